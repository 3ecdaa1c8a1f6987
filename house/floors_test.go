package house

import (
	"slices"
	"strings"
	"testing"
)

// floor says what a part of the house may import of the rest of it, and which
// libraries may not come near it, not even by way of others.
type floor struct {
	part    string   // a package, or with /... all at and below it
	may     []string // parts of the module, the same forms; itself always
	without []string // libraries, with all below them
}

const (
	fx      = "go.uber.org/fx"
	dig     = "go.uber.org/dig"
	koanf   = "github.com/knadh/koanf"
	ants    = "github.com/panjf2000/ants"
	cobra   = "github.com/spf13/cobra"
	pebble  = "github.com/cockroachdb/pebble"
	grpc    = "google.golang.org/grpc"
	gateway = "github.com/grpc-ecosystem/grpc-gateway"
)

var (
	frameworks = []string{fx, dig, koanf, ants, cobra, pebble}
	stores     = []string{"sdk/..."}
	floors     = []floor{
		{"sdk", nil, append([]string{grpc, gateway}, frameworks...)},
		{"sdk/...", []string{"sdk/..."}, frameworks},
		{"sdk/message", []string{"sdk/..."}, append([]string{grpc}, frameworks...)},
		{"sdk/reason", []string{"sdk"}, append([]string{grpc}, frameworks...)},
		{"scheduling/...", []string{"scheduling/..."}, []string{fx, koanf, cobra, pebble, grpc}},
		{"readpolicies/...", []string{"sdk", "readpolicies/..."}, append([]string{grpc}, frameworks...)},
		{"plugins/memory/...", stores, frameworks},
		{"plugins/pebble/...", stores, []string{fx, koanf, ants, cobra}},
		{"plugins/...", stores, []string{fx, koanf, ants, cobra}},
		{"engine/config", []string{"engine/quantity", "engine/spelling"}, []string{fx, ants, cobra, pebble, grpc}},
		{"engine", []string{"engine/...", "sdk/...", "scheduling/...", "readpolicies/..."}, []string{koanf, cobra, pebble}},
		{"engine/...", []string{"engine/...", "sdk/...", "scheduling/...", "readpolicies/..."}, []string{koanf, cobra, pebble}},
	}
)

// within says whether path is the part, or lies below a part that ends in /...
func within(path, part string) bool {
	if below, all := strings.CutSuffix(part, "/..."); all {
		return path == below || strings.HasPrefix(path, below+"/")
	}
	return path == part
}

// strictest returns the most exact floor that names the package.
func strictest(path string) *floor {
	var best *floor
	for i := range floors {
		f := &floors[i]
		if within(path, f.part) && (best == nil || len(strings.TrimSuffix(f.part, "/...")) > len(strings.TrimSuffix(best.part, "/...")) || f.part == path) {
			best = f
		}
	}
	return best
}

// TestFloors checks every package against the floor it belongs to.
func TestFloors(t *testing.T) {
	for _, p := range allPackages(t) {
		if f := strictest(p.short()); f != nil {
			for _, fault := range f.check(p) {
				t.Error(fault)
			}
		}
	}
}

func (f *floor) check(p *pkg) []string {
	var faults []string
	for _, imported := range p.Imports {
		ours := imported == module || strings.HasPrefix(imported, module+"/")
		if ours && !within(short(imported), f.part) && !slices.ContainsFunc(f.may, func(part string) bool { return within(short(imported), part) }) {
			faults = append(faults, p.short()+" imports "+short(imported)+"; it may import "+strings.Join(append(f.may, "the standard library"), ", "))
		}
	}
	for _, dep := range p.Deps {
		for _, library := range f.without {
			if within(dep, library+"/...") || strings.HasPrefix(dep, library+"/v") {
				faults = append(faults, p.short()+" depends on "+dep+", which belongs on another floor")
			}
		}
	}
	return faults
}

// TestFloorsCatch shows that the check can fail.
func TestFloorsCatch(t *testing.T) {
	for _, c := range []struct {
		path    string
		imports []string
		deps    []string
		faults  int
	}{
		{"sdk", []string{"errors"}, []string{"errors"}, 0},
		{"sdk", []string{module + "/scheduling"}, nil, 1},
		{"sdk", nil, []string{grpc + "/codes"}, 1},
		{"sdk/client", []string{module + "/sdk", grpc}, []string{grpc}, 0},
		{"sdk/client", []string{module + "/engine"}, nil, 1},
		{"scheduling/stepping", []string{module + "/scheduling"}, nil, 0},
		{"scheduling", []string{module + "/sdk"}, nil, 1},
		{"readpolicies", []string{module + "/sdk"}, nil, 0},
		{"readpolicies", []string{module + "/sdk/client"}, nil, 1},
		{"plugins/pebble", []string{module + "/sdk", pebble + "/v2"}, []string{pebble + "/v2"}, 0},
		{"plugins/memory", []string{module + "/plugins/pebble"}, []string{pebble + "/v2/vfs"}, 2},
		{"engine/managedledger", []string{module + "/plugins/memory"}, nil, 1},
		{"engine/server", []string{module + "/engine"}, []string{koanf + "/v2"}, 1},
		{"engine", []string{module + "/engine/managedledger"}, []string{fx}, 0},
	} {
		p := &pkg{ImportPath: module + "/" + c.path, Imports: c.imports, Deps: c.deps}
		if faults := strictest(c.path).check(p); len(faults) != c.faults {
			t.Errorf("%s importing %v depending on %v: %d faults %v, want %d", c.path, c.imports, c.deps, len(faults), faults, c.faults)
		}
	}
}

// TestProductDoesNotImportTests keeps what only proves or starts the product
// out of the product.
func TestProductDoesNotImportTests(t *testing.T) {
	for _, p := range allPackages(t) {
		if within(p.short(), "cmd/...") || within(p.short(), "conformance/...") {
			continue
		}
		for _, imported := range p.Imports {
			if within(short(imported), "conformance/...") || within(short(imported), "cmd/...") || imported == "testing" {
				if p.short() == "scheduling/stepping" && imported == "testing" {
					continue
				}
				t.Errorf("%s imports %s", p.short(), imported)
			}
		}
	}
}

// places says in which files a library may be imported at all.
var places = []struct {
	library string
	allowed func(path string) bool
	sayings string
}{
	{fx, func(path string) bool {
		return strings.HasSuffix(path, "/module.go") || strings.HasPrefix(path, "cmd/engine/")
	}, "module.go files and cmd/engine"},
	{koanf, func(path string) bool { return strings.HasPrefix(path, "engine/config/") }, "engine/config"},
	{cobra, func(path string) bool { return strings.HasPrefix(path, "cmd/engine/") }, "cmd/engine"},
	{pebble, func(path string) bool {
		return strings.HasPrefix(path, "plugins/pebble/") || strings.HasPrefix(path, "conformance/")
	}, "plugins/pebble"},
}
