package config

import "reflect"

// Change is a key that a reload changes.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from"`
	To   string `json:"to"`
	// Live says that the change is in force now; otherwise it waits for a
	// restart.
	Live bool `json:"live"`
}

// Reload compares the configuration in force with a newly loaded one. It
// returns what is in force from now on, the live changes of next over running,
// and all changes.
func Reload(running, next Config) (Config, []Change) {
	var changes []Change
	result := running
	from, to, into := reflect.ValueOf(running), reflect.ValueOf(next), reflect.ValueOf(&result).Elem()
	for _, k := range outlineOf(reflect.TypeFor[Config](), nil).keys {
		before, after := k.value(from), k.value(to)
		if before == after {
			continue
		}
		changes = append(changes, Change{Key: k.path, From: format(before), To: format(after), Live: k.live})
		if k.live {
			into.FieldByIndex(k.field).Set(reflect.ValueOf(after))
		}
	}
	return result, changes
}
