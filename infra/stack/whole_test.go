//go:build cdk

package stack_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"
)

// TestNag: no finding of AwsSolutions is left, and each that is suppressed has a
// reason that says something.
func TestNag(t *testing.T) {
	elsewhere := everything(t)
	elsewhere.Region = "eu-central-1"
	for _, s := range []map[string]template{synthesize(t, plain(t)), synthesize(t, everything(t)), synthesize(t, elsewhere)} {
		for name, m := range s {
			if len(m.messages) > 0 {
				t.Errorf("%s: %v", name, m.messages)
			}
			for id, r := range m.Resources {
				for _, one := range list(at(map[string]any(r.Metadata), "cdk_nag", "rules_to_suppress")) {
					if reason, _ := at(one, "reason").(string); len(strings.Fields(reason)) < 8 {
						t.Errorf("%s: %v is suppressed because %q", id, at(one, "id"), reason)
					}
				}
			}
		}
	}
}

// TestNagWouldSay: a resource that AwsSolutions objects to is reported, so that
// silence means something.
func TestNagWouldSay(t *testing.T) {
	made := synthesize(t, plain(t), func(app awscdk.App) {
		s := awscdk.NewStack(app, jsii.String("Careless"), nil)
		awssns.NewTopic(s, jsii.String("Open"), nil)
	})
	if !slices.ContainsFunc(made["Careless"].messages, func(text string) bool {
		return strings.Contains(text, "aws:cdk:error /Careless/Open") && strings.Contains(text, "AwsSolutions-SNS")
	}) {
		t.Errorf("an open topic was not reported: %v", made["Careless"].messages)
	}
}

// TestNoLiteralSecret: what functions are told in their environment is where a
// secret is, secrets are made by AWS, and nothing in a template looks like one.
func TestNoLiteralSecret(t *testing.T) {
	looks := regexp.MustCompile(`\b(sk-[A-Za-z0-9_-]{8,}|AKIA[0-9A-Z]{12,}|AIza[0-9A-Za-z_-]{20,}|xox[bap]-|gh[pousr]_[A-Za-z0-9]{20,}|-----BEGIN)`)
	m := main(t, everything(t))
	if found := looks.FindString(m.text); found != "" {
		t.Errorf("the template holds %q", found)
	}
	for _, f := range m.all("AWS::Lambda::Function") {
		variables, _ := f.prop("Environment", "Variables").(map[string]any)
		for name, value := range variables {
			if strings.Contains(name, "SECRET") || strings.Contains(name, "KEY") {
				if prefix := at(value, "Fn::Join", 1, 0); prefix != "secretsmanager:" {
					t.Errorf("%s of %s is %s, want a reference", name, f.id, flat(value))
				}
			}
		}
	}
	for _, s := range m.all("AWS::SecretsManager::Secret") {
		s.is(t, nil, "SecretString")
		s.is(t, 48, "GenerateSecretString", "PasswordLength")
	}
}

// TestOutputs: what an operator needs next is told by name.
func TestOutputs(t *testing.T) {
	always := []string{"AdminKeySecret", "AffinityTableName", "AlarmTopicArn", "ConfigTableName", "GatewayLogGroup", "GatewayURL",
		"LedgerTableName", "ProviderKeys", "StateTableName"}
	rows := map[string]struct {
		m    template
		want []string
	}{
		"plain":      {main(t, plain(t)), always},
		"everything": {main(t, everything(t)), append([]string{"ConsoleURL", "DomainURL"}, always...)},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			slices.Sort(row.want)
			if diff := cmp.Diff(row.want, slices.Sorted(maps.Keys(row.m.Outputs))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReproducible: the same settings and assets make the same template.
func TestReproducible(t *testing.T) {
	if first, second := main(t, everything(t)), main(t, everything(t)); first.text != second.text {
		t.Error(cmp.Diff(first.text, second.text))
	}
}
