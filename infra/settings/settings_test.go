package settings_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/infra/settings"
)

func files(names ...string) settings.Exists {
	return func(name string) bool { return slices.Contains(names, name) }
}

func TestDefaults(t *testing.T) {
	got, err := settings.Parse(nil, "", files(settings.GatewayAsset))
	want := settings.Settings{
		Prefix: "holdfast-", Gateway: "dist/gateway.zip", Architecture: "arm64", Reserved: 50, LogLevel: "info", LogDays: 30,
		Origins: []string{"*"}, FirstByte: 30_000, HourlySpend: 20,
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if got.Name() != "Holdfast" || got.Stem() != "holdfast" || got.Split() {
		t.Errorf("name %q, stem %q", got.Name(), got.Stem())
	}
}

func TestEverySetting(t *testing.T) {
	got, err := settings.Parse(map[string]string{
		"prefix": "acme-eu-", "gateway": "dist/local", "architecture": "x86_64", "reserved": "0", "loglevel": "debug", "logdays": "7",
		"origins": "https://a.example.com,http://localhost:5173", "email": "ops@example.com", "firstbyte": "5000", "spend": "2.5",
		"endpoint": "http://localstack:4566",
		"domain":   "llm.example.com", "zone": "Z0123456789ABC",
		"@aws-cdk/core:x": "true", "aws:cdk:y": "{}", // the CDK's own
	}, "us-east-1", files("dist/local", settings.ConsoleAsset))
	want := settings.Settings{
		Prefix: "acme-eu-", Gateway: "dist/local", Console: "dist/console.zip", Architecture: "x86_64", LogLevel: "debug", LogDays: 7,
		Origins: []string{"https://a.example.com", "http://localhost:5173"}, Email: "ops@example.com", FirstByte: 5000, HourlySpend: 2.5,
		Region: "us-east-1", Endpoint: "http://localstack:4566", Edge: &settings.Edge{Domain: "llm.example.com", Zone: "Z0123456789ABC"},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if got.Name() != "Holdfast-acme-eu" || got.Stem() != "acme-eu" {
		t.Errorf("name %q, stem %q", got.Name(), got.Stem())
	}
}

// TestRefused shows that nothing is taken that is not of the setting's form,
// and that no message repeats what was given.
func TestRefused(t *testing.T) {
	const secret = "sk-proj-0123456789abcdef"
	rows := map[string]map[string]string{
		"an unknown name":            {"reserve": "5"},
		"a secret's name":            {"openai_api_key": secret},
		"a secret as a name":         {secret + "!": "1"},
		"a secret as a value":        {"email": secret},
		"a secret as an origin":      {"origins": secret},
		"no separator in the prefix": {"prefix": "holdfast"},
		"a negative number":          {"reserved": "-1"},
		"no number":                  {"reserved": "many"},
		"days that are not offered":  {"logdays": "8"},
		"an origin with a path":      {"origins": "https://a.example.com/x"},
		"an endpoint over TLS":       {"endpoint": "https://dynamodb.us-east-1.amazonaws.com:443"},
		"no money":                   {"spend": "0"},
		"money without end":          {"spend": "+Inf"},
		"not a number of money":      {"spend": "NaN"},
		"a path out of here":         {"gateway": "/etc/passwd"},
		"an asset that is not there": {"gateway": "dist/other.zip"},
		"a console without asset":    {"console": "true"},
		"a console that may be":      {"console": "maybe"},
		"a domain without its zone":  {"domain": "llm.example.com"},
		"a zone without a domain":    {"zone": "Z0123456789ABC"},
		"a certificate elsewhere":    {"certificate": "arn:aws:acm:eu-central-1:123456789012:certificate/00000000-0000-0000-0000-000000000000"},
	}
	for name, values := range rows {
		t.Run(name, func(t *testing.T) {
			_, err := settings.Parse(values, "", files(settings.GatewayAsset))
			if !errors.Is(err, settings.ErrInvalid) {
				t.Fatalf("%v was taken: %v", slices.Collect(maps.Keys(values)), err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the message repeats what was given: %v", err)
			}
		})
	}
}

// TestConsole: it is part of the stack where its asset is there.
func TestConsole(t *testing.T) {
	for want, row := range map[string]struct {
		exists settings.Exists
		values map[string]string
	}{
		"dist/console.zip": {files(settings.GatewayAsset, settings.ConsoleAsset), map[string]string{"console": "true"}},
		"":                 {files(settings.GatewayAsset, settings.ConsoleAsset), map[string]string{"console": "false"}},
	} {
		if got, err := settings.Parse(row.values, "", row.exists); err != nil || got.Console != want {
			t.Errorf("%v: console %q, %v", row.values, got.Console, err)
		}
	}
}

// TestEdgeElsewhere: CloudFront's certificate and web ACL come from us-east-1,
// so that another region needs them from a stack of their own.
func TestEdgeElsewhere(t *testing.T) {
	const id = "00000000-0000-0000-0000-000000000000"
	values := map[string]string{"domain": "llm.example.com", "zone": "Z0123456789ABC"}
	first, err := settings.Parse(values, "eu-central-1", files(settings.GatewayAsset))
	if err != nil || !first.Split() {
		t.Errorf("split %v, %v", first.Split(), err)
	}
	values["certificate"] = "arn:aws:acm:us-east-1:123456789012:certificate/" + id
	if _, err := settings.Parse(values, "eu-central-1", files(settings.GatewayAsset)); !errors.Is(err, settings.ErrInvalid) {
		t.Errorf("a certificate alone was taken: %v", err)
	}
	values["webacl"] = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/holdfast/" + id
	second, err := settings.Parse(values, "eu-central-1", files(settings.GatewayAsset))
	if err != nil || second.Split() {
		t.Errorf("split %v, %v", second.Split(), err)
	}
}

// TestREADME: every setting is explained.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range settings.Names() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s is not explained", name)
		}
	}
}
