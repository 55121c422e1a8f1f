//go:build cdk

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/infra/settings"
)

const asset = "infra/stack/testdata/function"

// TestRun writes templates from anywhere in the repository; what the cdk command
// line passes on counts, and arguments outrank it.
func TestRun(t *testing.T) {
	t.Chdir(".") // back to here afterwards
	t.Setenv("CDK_DEFAULT_REGION", "eu-central-1")
	t.Setenv("HOLDFAST_TABLE_PREFIX", "acme-")
	t.Setenv("CDK_CONTEXT_JSON", `{"gateway":"`+asset+`","reserved":7,"loglevel":"debug","@aws-cdk/core:something":true}`)
	dir := t.TempDir()
	if err := run([]string{"-o", dir, "-c", "console=false", "-c", "loglevel=warn"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "Holdfast-acme.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ReservedConcurrentExecutions": 7`, `"HOLDFAST_LOG_LEVEL": "warn"`, `"acme-affinity"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the template lacks %s", want)
		}
	}
	var manifest struct {
		Artifacts map[string]struct{ Environment string }
	}
	text, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil || json.Unmarshal(text, &manifest) != nil {
		t.Fatal(err)
	}
	if at := manifest.Artifacts["Holdfast-acme"].Environment; at != "aws://unknown-account/eu-central-1" {
		t.Errorf("deployed to %s", at)
	}
}

// TestCommandLineReadsIt: the pinned cdk command line takes what this module's
// CDK has written; the two are released apart.
func TestCommandLineReadsIt(t *testing.T) {
	t.Chdir(".")
	t.Setenv("CDK_CONTEXT_JSON", "")
	dir := t.TempDir()
	if err := run([]string{"-o", dir, "-c", "gateway=" + asset}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("scripts/deploy", "install").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := exec.Command("infra/node_modules/.bin/cdk", "ls", "--app", dir, "--no-notices")
	list.Env = append(os.Environ(), "CDK_DISABLE_CLI_TELEMETRY=true")
	if out, err := list.Output(); err != nil || strings.TrimSpace(string(out)) != "Holdfast" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Chdir(".")
	t.Setenv("CDK_CONTEXT_JSON", "")
	dir := t.TempDir()
	for name, row := range map[string]struct {
		args    []string
		setting bool // what is wrong is a setting
	}{
		"an unknown setting":  {[]string{"-c", "reserve=1"}, true},
		"a value of no form":  {[]string{"-c", "reserved=many"}, true},
		"a setting, no value": {[]string{"-c", "reserved"}, false},
		"a flag":              {[]string{"-x"}, false},
	} {
		err := run(append([]string{"-o", dir, "-c", "gateway=" + asset}, row.args...), io.Discard)
		if err == nil || errors.Is(err, settings.ErrInvalid) != row.setting {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("CDK_CONTEXT_JSON", "{")
	if err := run([]string{"-o", dir}, io.Discard); err == nil {
		t.Error("broken settings of the cdk command line were taken")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("something was written: %v %v", left, err)
	}
}

// TestDocumentDecidesBedrock: a connection that signs in the document that will
// be seeded brings its permission into the template; a setting outranks it.
func TestDocumentDecidesBedrock(t *testing.T) {
	t.Chdir(".")
	t.Setenv("CDK_CONTEXT_JSON", "")
	file := filepath.Join(t.TempDir(), "document.yaml")
	doc := `connections: [{id: a, provider: bedrock, base_url: "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1", auth: {type: sigv4}}]` + "\ndeployments: [{id: d, model: m, connection: a, protocol: chat}]\n"
	if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	template := func(args ...string) string {
		t.Helper()
		dir := t.TempDir()
		if err := run(append([]string{"-o", dir, "-c", "gateway=" + asset}, args...), io.Discard); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "Holdfast.template.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if strings.Contains(template(), "bedrock:InvokeModel") {
		t.Error("without a document the role may invoke models")
	}
	t.Setenv("HOLDFAST_CONFIG", file)
	if !strings.Contains(template(), "bedrock:InvokeModelWithResponseStream") {
		t.Error("the document's connection has no permission")
	}
	if text := template("-c", "bedrock=mantle"); strings.Contains(text, "bedrock:InvokeModel") || !strings.Contains(text, "bedrock-mantle:CreateInference") {
		t.Error("the setting does not outrank the document")
	}
	if err := os.WriteFile(file, []byte("connections: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-o", t.TempDir(), "-c", "gateway=" + asset}, io.Discard); err == nil {
		t.Error("a template was made for a document that is not valid")
	}
}
