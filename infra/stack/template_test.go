//go:build cdk

package stack_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/settings"
	"holdfast/infra/stack"
)

// asset stands for a built function.
const asset = "testdata/function"

// plain are the settings that an operator who chooses nothing gets.
func plain(t *testing.T) settings.Settings {
	t.Helper()
	s, err := settings.Parse(map[string]string{"gateway": asset}, "", func(name string) bool { return name == asset })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything are settings with the console and CloudFront.
func everything(t *testing.T) settings.Settings {
	s := plain(t)
	s.Console, s.Region, s.Email = asset, settings.EdgeRegion, "ops@example.com"
	s.Edge = &settings.Edge{Domain: "llm.example.com", Zone: "Z0123456789ABC"}
	return s
}

// template is one synthesized stack.
type template struct {
	t         *testing.T
	Resources map[string]resource
	Outputs   map[string]struct{ Value any }
	text      string
	messages  []string // what cdk-nag and CDK itself have to say
}

type resource struct {
	Type           string
	Properties     map[string]any
	Metadata       map[string]any
	DeletionPolicy string
	id             string
}

// synthesize builds the stacks and reads them back, by name.
func synthesize(t *testing.T, s settings.Settings, more ...func(awscdk.App)) map[string]template {
	t.Helper()
	dir := t.TempDir()
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(dir), AnalyticsReporting: jsii.Bool(false)})
	stack.Build(app, s)
	for _, add := range more {
		add(app)
	}
	made := map[string]template{}
	for _, artifact := range *app.Synth(nil).Stacks() {
		text, err := os.ReadFile(filepath.Join(dir, *artifact.TemplateFile()))
		if err != nil {
			t.Fatal(err)
		}
		one := template{t: t, text: string(text)}
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		one.messages = messages(t, filepath.Join(dir, *artifact.StackName()+".metadata.json"))
		made[*artifact.StackName()] = one
	}
	return made
}

// messages reads what was said about the constructs of a stack.
func messages(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var by map[string][]struct {
		Type string
		Data any
	}
	if err := json.Unmarshal(text, &by); err != nil {
		t.Fatal(err)
	}
	var said []string
	for path, all := range by {
		for _, one := range all {
			if one.Type == "aws:cdk:error" || one.Type == "aws:cdk:warning" {
				said = append(said, one.Type+" "+path+" "+flat(one.Data))
			}
		}
	}
	return said
}

// main is the stack that serves.
func main(t *testing.T, s settings.Settings) template {
	t.Helper()
	made, found := synthesize(t, s)[s.Name()]
	if !found {
		t.Fatalf("there is no stack %s", s.Name())
	}
	return made
}

// all returns the resources of a type, in the order of their ids.
func (m template) all(kind string) []resource {
	var found []resource
	for id, r := range m.Resources {
		if r.Type == kind {
			r.id = id
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b resource) int { return strings.Compare(a.id, b.id) })
	return found
}

// one returns the only resource of a type whose id starts so.
func (m template) one(kind, prefix string) resource {
	m.t.Helper()
	found := slices.DeleteFunc(m.all(kind), func(r resource) bool { return !strings.HasPrefix(r.id, prefix) })
	if len(found) != 1 {
		m.t.Fatalf("%d resources of type %s with an id like %s, want 1", len(found), kind, prefix)
	}
	return found[0]
}

// at follows a path of members and, as numbers, elements; nil where it ends.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

// prop is a property of a resource.
func (r resource) prop(path ...any) any { return at(map[string]any(r.Properties), path...) }

// flat is a value as one line of JSON.
func flat(value any) string {
	text, _ := json.Marshal(value) // it came from JSON
	return string(text)
}

// list is a property that may be one value or several.
func list(value any) []any {
	if several, ok := value.([]any); ok {
		return several
	}
	if value == nil {
		return nil
	}
	return []any{value}
}

// is compares a property with what JSON would make of want.
func (r resource) is(t *testing.T, want any, path ...any) {
	t.Helper()
	if got := flat(r.prop(path...)); got != flat(want) {
		t.Errorf("%s %v is %s, want %s", r.id, path, got, flat(want))
	}
}
