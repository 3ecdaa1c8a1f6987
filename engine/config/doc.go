// Package config is the configuration of the daemon: one struct, [Config],
// whose field tags are the keys, their meaning and their limits, and the
// sources that fill it: defaults, then files (YAML, TOML, JSON) in the order
// given, then the environment, then flags; the later one wins.
//
// It is strict. An unknown key, a wrong type, a number without its unit or
// outside its range is a problem, in every source, also where a later source
// would win; all problems are reported at once, each with its place, its key
// and what would be right. A section that is written but empty changes
// nothing. An environment variable that is empty counts as not set.
//
// Everything that describes the configuration (what is in force and who said
// so, the schema, the example file) is made from the same struct. A new key is
// one field.
package config
