package admission_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/infra/admission"
	"holdfast/routing/catalog"
)

// document is a valid one with one connection's auth and one caller's key.
func document(t *testing.T, connection, key string) *catalog.Document {
	t.Helper()
	doc, problems := catalog.Load([]byte(`
connections: [{id: a, provider: openai, ` + connection + `}]
deployments: [{id: d, model: m, connection: a, protocol: chat}]
keys: [{id: k, ` + key + `}]
`))
	if catalog.HasErrors(problems) {
		t.Fatal(problems)
	}
	return doc
}

const (
	hash  = "key_sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	param = `auth: {key: "ssm:/holdfast/openai"}`
	arn   = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:"
)

func TestCheck(t *testing.T) {
	rows := map[string]struct {
		connection, key string
		want            []string // paths, in order
	}{
		"a parameter below the stem":       {param, hash, nil},
		"a secret by ARN below the stem":   {`auth: {key: "secretsmanager:` + arn + `holdfast/openai-AbCdEf"}`, hash, nil},
		"a secret by name below the stem":  {`auth: {key: "secretsmanager:holdfast/openai"}`, hash, nil},
		"a literal":                        {`auth: {key: sk-proj-1}`, hash, []string{"connections[0].auth.key"}},
		"literals among several":           {`auth: {keys: ["ssm:/holdfast/a", sk-2]}`, hash, []string{"connections[0].auth.keys[1]"}},
		"a literal caller key":             {param, "key: sk-hf-1", []string{"keys[0].key"}},
		"a variable of the function":       {`auth: {key: "env:OPENAI_API_KEY"}`, hash, []string{"connections[0].auth.key"}},
		"a parameter elsewhere":            {`auth: {key: "ssm:/other/openai"}`, hash, []string{"connections[0].auth.key"}},
		"a stem that only starts alike":    {`auth: {key: "ssm:/holdfast-two/openai"}`, hash, []string{"connections[0].auth.key"}},
		"a secret elsewhere":               {`auth: {key: "secretsmanager:` + arn + `other/holdfast/x"}`, hash, []string{"connections[0].auth.key"}},
		"a caller's parameter elsewhere":   {param, `key: "ssm:/other/key"`, []string{"keys[0].key"}},
		"simulated accounts":               {param + `, base_url: "demo://alpha"`, hash, []string{"connections[0].base_url"}},
		"everything at once, in its order": {`auth: {key: sk-1}, base_url: "demo://alpha"`, "key: sk-hf-1", []string{"connections[0].auth.key", "keys[0].key", "connections[0].base_url"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range admission.Check(document(t, row.connection, row.key), "holdfast") {
				got = append(got, p.Path)
				if strings.Contains(p.Message, "sk-") {
					t.Errorf("the message repeats a secret: %s", p.Message)
				}
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("refused at %v, want %v", got, row.want)
			}
		})
	}
}

// TestDeployRefuses: what make deploy does first stops at a document with a
// secret in it, and goes on with one that refers to it.
func TestDeployRefuses(t *testing.T) {
	for key, want := range map[string]bool{"sk-proj-1": false, "ssm:/holdfast/openai": true} {
		file := filepath.Join(t.TempDir(), "holdfast.yaml")
		text := "connections: [{id: a, provider: openai, auth: {key: \"" + key + "\"}}]\ndeployments: [{id: d, model: m, connection: a, protocol: chat}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.Command("../../scripts/deploy", "check")
		check.Env = append(os.Environ(), "HOLDFAST_CONFIG="+file, "HOLDFAST_TABLE_PREFIX=")
		out, err := check.CombinedOutput()
		if (err == nil) != want || strings.Contains(string(out), "sk-proj-1") {
			t.Errorf("%s: %v\n%s", key, err, out)
		}
	}
}

// TestAWSSignatures: connections that sign need no secret, and tell which
// permissions the stack grants.
func TestAWSSignatures(t *testing.T) {
	connection := func(id, host, auth string) string {
		return fmt.Sprintf("  - {id: %s, provider: bedrock, base_url: \"https://%s/openai/v1\", auth: %s}\n", id, host, auth)
	}
	runtime := connection("r", "bedrock-runtime.eu-central-1.amazonaws.com", "{type: sigv4}")
	private := connection("p", "vpce-1.bedrock-runtime.eu-central-1.vpce.amazonaws.com", "{type: sigv4}")
	mantle := connection("m", "bedrock-mantle.us-east-1.api.aws", "{type: sigv4}")
	bearer := connection("b", "bedrock-mantle.us-east-1.api.aws", `{key: "ssm:/holdfast/b"}`)
	rows := []struct {
		connections string
		want        []string
	}{
		{bearer, nil},
		{runtime, []string{"runtime"}},
		{mantle + bearer, []string{"mantle"}},
		{private + mantle + runtime, []string{"mantle", "runtime"}},
	}
	for _, row := range rows {
		doc, problems := catalog.Load([]byte("connections:\n" + row.connections + "deployments: [{id: d, model: m, connection: " + row.connections[9:10] + ", protocol: chat}]\n"))
		if catalog.HasErrors(problems) {
			t.Fatal(problems)
		}
		if got := admission.Check(doc, "holdfast"); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if got := admission.Bedrock(doc); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.connections, got, row.want)
		}
	}
}

// TestHashCallers shows that a key in the operator's environment is stored as
// its hash, and that the document given stays as it was.
func TestHashCallers(t *testing.T) {
	doc := document(t, param, `key: "env:TEAM_KEY"`)
	hashed, problems := admission.HashCallers(doc, func(name string) (string, bool) { return "sk-hf-team", name == "TEAM_KEY" })
	sum := sha256.Sum256([]byte("sk-hf-team"))
	if len(problems) > 0 || hashed.Keys[0].KeySHA256 != hex.EncodeToString(sum[:]) || hashed.Keys[0].Key != "" {
		t.Errorf("%+v %v", hashed.Keys[0], problems)
	}
	if doc.Keys[0].Key != "env:TEAM_KEY" {
		t.Error("the document that was given has changed")
	}
	if problems := admission.Check(hashed, "holdfast"); len(problems) > 0 {
		t.Errorf("the hashed document is refused: %v", problems)
	}
	_, problems = admission.HashCallers(doc, func(string) (string, bool) { return "", false })
	if len(problems) != 1 || problems[0].Path != "keys[0].key" || !strings.Contains(problems[0].Message, "TEAM_KEY") {
		t.Errorf("unset variable: %v", problems)
	}
}
