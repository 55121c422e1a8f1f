// Package localstack_test holds the LocalStack loop against itself where no
// Docker engine is: what the files name is there, and nothing is open to other
// machines.
package localstack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"holdfast/infra/admission"
	"holdfast/routing/catalog"
)

// service is what of a compose file's service is used here.
type service struct {
	Image       string         `yaml:"image"`
	Ports       []string       `yaml:"ports"`
	Entrypoint  []string       `yaml:"entrypoint"`
	WorkingDir  string         `yaml:"working_dir"`
	Environment map[string]any `yaml:"environment"`
	Healthcheck struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Retries  int      `yaml:"retries"`
	} `yaml:"healthcheck"`
	Volumes  []string `yaml:"volumes"`
	Networks []string `yaml:"networks"`
}

type compose struct {
	Name     string             `yaml:"name"`
	Services map[string]service `yaml:"services"`
	Networks map[string]struct {
		Name string `yaml:"name"`
	} `yaml:"networks"`
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func load(t *testing.T) compose {
	t.Helper()
	var c compose
	strict := yaml.NewDecoder(strings.NewReader(read(t, "compose.yaml")))
	strict.KnownFields(true)
	if err := strict.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompose: the image is pinned to the last tag without a token, ports are
// this machine's own, and functions find LocalStack's network by its name.
func TestCompose(t *testing.T) {
	c := load(t)
	for name, s := range c.Services {
		if s.Image != "localstack/localstack:${LOCALSTACK_TAG:-4.14.0}" {
			t.Errorf("%s runs %s", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to other machines: %s", name, port)
			}
		}
		if !slices.Equal(s.Networks, []string{"holdfast"}) {
			t.Errorf("%s is in %v", name, s.Networks)
		}
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":/")
			built := strings.HasPrefix(from, "../dist/local/")
			if _, err := os.Stat(from); err != nil && !built && !strings.HasPrefix(from, "${") {
				t.Errorf("%s mounts %s, which is not there", name, from)
			}
		}
	}
	if at := c.Services["localstack"].Environment["LAMBDA_DOCKER_NETWORK"]; at != c.Networks["holdfast"].Name {
		t.Errorf("functions run in network %v, services in %s", at, c.Networks["holdfast"].Name)
	}
}

// TestVariables: without any variable set the loop works, as no token is there.
func TestVariables(t *testing.T) {
	for _, use := range regexp.MustCompile(`\$\{[^}]*\}`).FindAllString(read(t, "compose.yaml"), -1) {
		if !regexp.MustCompile(`^\$\{[A-Z_]+:-[^}]*\}$`).MatchString(use) {
			t.Errorf("%s has no default", use)
		}
	}
}

// TestDocument: what local-deploy seeds is admitted there, its provider is a
// service of the loop, and its key is the one that init stores.
func TestDocument(t *testing.T) {
	doc, problems := catalog.Load([]byte(read(t, "holdfast.yaml")))
	hashed, unset := admission.HashCallers(doc, func(name string) (string, bool) { return "sk-hf-local", name == "HOLDFAST_LOCAL_KEY" })
	problems = append(append(problems, unset...), admission.Check(hashed, "holdfast")...)
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	init := read(t, "init/provider-keys.sh")
	for _, c := range doc.Connections {
		if c.BaseURL != "http://provider:8080/v1" || load(t).Services["provider"].Image == "" {
			t.Errorf("connection %s leads to %s, which is no service", c.ID, c.BaseURL)
		}
		if name := strings.TrimPrefix(c.Auth.Key, "ssm:"); !strings.Contains(init, "--name "+name+" ") {
			t.Errorf("init stores no %s", name)
		}
	}
	if !strings.Contains(init, "--value "+catalog.DemoKey+" ") {
		t.Error("init stores another key than the demo takes")
	}
	for _, protocol := range []string{"chat", "responses", "messages"} {
		serve := 0
		for _, d := range doc.Deployments {
			if d.Model == protocol && d.Protocol == protocol {
				serve++
			}
		}
		if serve != 2 {
			t.Errorf("%d deployments serve %s, want two to choose from", serve, protocol)
		}
	}
}

// TestScripts: every script of the loop and of a deployment is executable, in
// syntax that bash takes, and stops at the first failure.
func TestScripts(t *testing.T) {
	init, err := filepath.Glob("init/*")
	if err != nil || len(init) == 0 {
		t.Fatal(init, err)
	}
	for _, name := range append(init, "../scripts/local", "../scripts/deploy", "../scripts/synth") {
		if info, err := os.Stat(name); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable: %v", name, err)
		}
		if out, err := exec.Command("bash", "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if !strings.Contains(read(t, name), "set -euo pipefail") {
			t.Errorf("%s goes on after a failure", name)
		}
	}
}

// TestTargets: each step of the loop is a target, and each is explained when
// the script is asked for nothing.
func TestTargets(t *testing.T) {
	makefile := read(t, "../Makefile")
	usage, err := exec.Command("../scripts/local").CombinedOutput()
	if err == nil {
		t.Error("scripts/local without a step succeeds")
	}
	for _, step := range []string{"up", "deploy", "test", "down"} {
		if !strings.Contains(makefile, "\nlocal-"+step+":") {
			t.Errorf("there is no target local-%s", step)
		}
		if !strings.Contains(string(usage), step) {
			t.Errorf("usage %q does not name %s", usage, step)
		}
	}
}
