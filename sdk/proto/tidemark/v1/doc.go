// Package tidemarkv1 is the public API of a Tidemark daemon, version 1: the
// messages and services of the .proto files beside it, which say what each
// means. All but this file is generated from them.
package tidemarkv1
