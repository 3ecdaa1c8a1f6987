//go:build race

package scheduling

const raceDetector = true
