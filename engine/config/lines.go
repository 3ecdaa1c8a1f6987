package config

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// linesOf finds the line of each key of a file, as well as can be: a message
// without one is still right. twice are the keys that stand there more than
// once, which JSON parsers pass over.
func linesOf(path string, text []byte) (lines map[string]int, twice []string) {
	lines = map[string]int{}
	if strings.HasSuffix(strings.ToLower(path), ".toml") {
		tomlLines(lines, string(text))
		return lines, nil
	}
	// JSON is read as YAML here, for its places only.
	var document yaml.Node
	if yaml.Unmarshal(text, &document) == nil && len(document.Content) > 0 {
		twice = yamlLines(lines, document.Content[0], "")
	}
	return lines, twice
}

func yamlLines(lines map[string]int, node *yaml.Node, prefix string) (twice []string) {
	if node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		path := prefix + node.Content[i].Value
		if _, known := lines[path]; known {
			twice = append(twice, path)
		}
		lines[path] = node.Content[i].Line
		twice = append(twice, yamlLines(lines, node.Content[i+1], path+".")...)
	}
	return twice
}

// tomlLines follows [section] headers and what stands left of the first =.
func tomlLines(lines map[string]int, text string) {
	prefix := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if header, found := strings.CutPrefix(line, "["); found {
			header, _, _ = strings.Cut(header, "]")
			prefix = strings.TrimSpace(header) + "."
			lines[strings.TrimSuffix(prefix, ".")] = i + 1
		} else if name, _, found := strings.Cut(line, "="); found && !strings.HasPrefix(line, "#") {
			lines[prefix+strings.Trim(strings.TrimSpace(name), `"'`)] = i + 1
		}
	}
}
