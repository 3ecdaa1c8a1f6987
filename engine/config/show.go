package config

import "reflect"

// Setting is one key as it is in force.
type Setting struct {
	Key string `json:"key"`
	// Value and Default are written as in a file; secrets are hidden.
	Value   string `json:"value"`
	Default string `json:"default"`
	// Origin says who set it: default, FILE:LINE, a variable or a flag.
	Origin string `json:"origin"`
	// Live says whether a reload puts a change into force.
	Live bool   `json:"live"`
	Doc  string `json:"doc"`
	// Environment is the name of the variable that sets it.
	Environment string `json:"environment"`
}

// Settings lists all keys with what is in force and where it comes from, in
// the order of the struct.
func (l *Loaded) Settings() []Setting {
	var settings []Setting
	config, defaults := reflect.ValueOf(l.Config), reflect.ValueOf(Default())
	for _, k := range l.outline.keys {
		settings = append(settings, Setting{
			Key:         k.path,
			Value:       format(k.value(config)),
			Default:     format(k.value(defaults)),
			Origin:      l.origin(k.path).String(),
			Live:        k.live,
			Doc:         k.doc,
			Environment: k.environment(),
		})
	}
	return settings
}
