// Command depcheck fails the build when a package imports what the layout
// forbids. It prints every forbidden arrow with its reason.
//
// It reads the import graph from `go list`, tests included, and exits 1 on any
// forbidden arrow, 2 when the graph cannot be read.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is the path of this repository's one Go module.
const module = "holdfast"

// rule forbids packages under from to import packages under any of to.
type rule struct {
	from   string   // path prefix inside the module; "" is the whole module
	to     []string // import path prefixes; those of the module start with "./"
	except []string // packages under from that may
	why    string
}

// rules is the table of forbidden arrows. Data flows one way: functions use
// affinity and routing, which know neither each other nor functions.
func rules() []rule {
	codecs := []string{"./functions/internal/wire/chat", "./functions/internal/wire/responses", "./functions/internal/wire/messages"}
	return []rule{
		{from: "affinity", to: []string{"./routing", "./functions", "./localstack"}, except: []string{"affinity/store/dynamo"},
			why: "affinity sees a deployment as an opaque string and knows no HTTP server"},
		{from: "affinity/store/dynamo", to: []string{"./routing", "./functions"},
			why: "the driver knows records, not requests"},
		{from: "affinity", to: []string{"net/http"}, except: []string{"affinity/store/dynamo"},
			why: "affinity knows no HTTP"},
		{from: "routing", to: []string{"./affinity", "./functions", "./localstack", "net/http"},
			why: "routing is pure: a pin reaches it as a value"},
		{from: codecs[0][2:], to: []string{codecs[1], codecs[2]}, why: "codecs meet only in the neutral form"},
		{from: codecs[1][2:], to: []string{codecs[0], codecs[2]}, why: "codecs meet only in the neutral form"},
		{from: codecs[2][2:], to: []string{codecs[0], codecs[1]}, why: "codecs meet only in the neutral form"},
		{from: "functions/internal/wire", to: []string{"./functions/internal/exchange", "./functions/internal/upstream",
			"./functions/internal/httpapi", "./functions/internal/app", "./functions/internal/host", "./affinity", "./routing"},
			why: "wire holds values and sees nobody"},
		{from: "functions/internal/upstream", to: []string{"./affinity", "./functions/internal/exchange", "./functions/internal/httpapi", "./functions/internal/app"},
			why: "an attempt knows nothing of sessions or of the exchange around it"},
		{from: "functions/internal/exchange", to: []string{"./functions/internal/httpapi", "./functions/internal/app", "./functions/internal/host"},
			why: "the flow does not know who calls it"},
		{from: "functions/internal", to: []string{"./functions/internal/app"}, except: []string{"functions/internal/app"},
			why: "only mains compose"},
		{from: "functions/internal", to: []string{"./localstack"}, except: []string{"functions/internal/app"},
			why: "the product does not know its stand-ins"},
		{from: "infra/table", to: []string{"./", "github.com"}, why: "names import nothing"},
		{from: "", to: []string{"github.com/aws/aws-sdk-go-v2"},
			except: []string{"affinity/store/dynamo", "functions/internal/app", "functions/internal/host", "functions/internal/upstream", "localstack", "scripts"},
			why:    "the AWS SDK stays behind the store driver, the composition root, the host and the signer"},
		{from: "", to: []string{"github.com/aws/aws-cdk-go"}, except: []string{"infra"}, why: "CDK stays in infra"},
		{from: "", to: []string{"github.com/tidwall"}, except: []string{"functions/internal/wire/jsonedit"},
			why: "gjson and sjson read and edit invalid JSON silently; only jsonedit uses them, after validation"},
	}
}

type pkg struct {
	ImportPath, Dir                    string
	Imports, TestImports, XTestImports []string
}

func main() {
	packages, err := load()
	if err != nil {
		fmt.Fprintln(os.Stderr, "depcheck:", err)
		os.Exit(2)
	}
	bad := 0
	for _, p := range packages {
		for _, line := range check(p, rules()) {
			fmt.Println(line)
			bad++
		}
	}
	if bad > 0 {
		fmt.Printf("depcheck: %d forbidden imports\n", bad)
		os.Exit(1)
	}
}

// load lists the module's packages with their direct imports.
func load() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// check returns one line for every forbidden import of p. Test files may use
// the stand-ins of localstack, and nothing else that the package may not.
func check(p pkg, rules []rule) []string {
	var lines []string
	path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	report := func(imports []string, test bool) {
		for _, imported := range imports {
			for _, r := range rules {
				if why, forbidden := r.forbids(path, imported, test); forbidden {
					lines = append(lines, fmt.Sprintf("%s -> %s: %s", p.ImportPath, imported, why))
				}
			}
		}
	}
	report(p.Imports, false)
	report(p.TestImports, true)
	report(p.XTestImports, true)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// forbids reports whether r forbids path to import imported, and why.
func (r rule) forbids(path, imported string, test bool) (string, bool) {
	if !under(path, r.from) || slices.ContainsFunc(r.except, func(e string) bool { return under(path, e) }) {
		return "", false
	}
	if imported == module+"/"+path {
		return "", false // a package's external tests import it
	}
	for _, to := range r.to {
		target := to
		if inside, ok := strings.CutPrefix(to, "./"); ok {
			target = strings.TrimSuffix(module+"/"+inside, "/")
		}
		if under(imported, target) && !(test && (under(imported, module+"/localstack") || target == "net/http")) {
			return r.why, true
		}
	}
	return "", false
}

// under reports whether path is prefix or lies below it.
func under(path, prefix string) bool {
	return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
}
