//go:build cdk

package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of which role may do what, as the design says it.
const (
	reads = "dynamodb:BatchGetItem dynamodb:GetItem"
	write = "dynamodb:PutItem dynamodb:UpdateItem"
)

func gatewayMay() map[string]string {
	return map[string]string{
		"AffinityTable": sorted(reads, write),
		"StateTable":    sorted(reads, write, "dynamodb:Query"),
		"ConfigTable":   sorted(reads),
		"LedgerTable":   sorted(reads, write),
	}
}

func consoleMay() map[string]string {
	return map[string]string{
		"AffinityTable": sorted(reads, write, "dynamodb:Query"),
		"StateTable":    sorted(reads, "dynamodb:Query"),
		"ConfigTable":   sorted(reads, write, "dynamodb:Query"),
		"LedgerTable":   sorted(reads, "dynamodb:Query"),
	}
}

func sorted(actions ...string) string {
	all := strings.Fields(strings.Join(actions, " "))
	slices.Sort(all)
	return strings.Join(all, " ")
}

// statement is one grant of a role.
type statement struct {
	actions   []string
	resources []any
}

func (m template) statements(policy string) []statement {
	m.t.Helper()
	var all []statement
	r := m.one("AWS::IAM::Policy", policy)
	for _, one := range list(r.prop("PolicyDocument", "Statement")) {
		if at(one, "Effect") != "Allow" || at(one, "Principal") != nil {
			m.t.Errorf("%s: %s", policy, flat(one))
		}
		var s statement
		for _, action := range list(at(one, "Action")) {
			s.actions = append(s.actions, action.(string))
		}
		s.resources = list(at(one, "Resource"))
		all = append(all, s)
	}
	return all
}

// target names the table of ours that a resource is, with "/index" for its
// index, or "" for anything else.
func (m template) target(r any) string {
	id, _ := at(r, "Fn::GetAtt", 0).(string)
	suffix := ""
	if parts := at(r, "Fn::Join", 1); parts != nil && at(parts, 1) == "/index/by-index" && at(parts, 2) == nil {
		id, _ = at(parts, 0, "Fn::GetAtt", 0).(string)
		suffix = "/index"
	}
	if m.Resources[id].Type != "AWS::DynamoDB::Table" {
		return ""
	}
	return strings.TrimRight(id, "0123456789ABCDEF") + suffix
}

// TestRoles shows what each function may do with which table, action by action.
func TestRoles(t *testing.T) {
	m := main(t, everything(t))
	rows := map[string]map[string]string{"GatewayRole": gatewayMay(), "ConsoleRole": consoleMay()}
	rows["ConsoleRole"]["LedgerTable/index"] = rows["ConsoleRole"]["LedgerTable"]
	for role, want := range rows {
		t.Run(role, func(t *testing.T) {
			got := map[string]string{}
			for _, s := range m.statements(role) {
				for _, r := range s.resources {
					name := m.target(r)
					if name == "" {
						if slices.ContainsFunc(s.actions, func(a string) bool { return strings.HasPrefix(a, "dynamodb:") }) {
							t.Errorf("%v on %s, which is no table of ours", s.actions, flat(r))
						}
						continue
					}
					got[name] = sorted(got[name], strings.Join(s.actions, " "))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoWildcards: every action is spelled out, none reads whole tables or
// deletes, and the only open resources are the paths of providers' and callers' keys.
func TestNoWildcards(t *testing.T) {
	m := main(t, everything(t))
	open := map[string]int{}
	for _, role := range []string{"GatewayRole", "ConsoleRole"} {
		for _, s := range m.statements(role) {
			for _, action := range s.actions {
				if strings.Contains(action, "*") || strings.Contains(action, "Scan") || strings.Contains(action, "Delete") {
					t.Errorf("%s may %s", role, action)
				}
			}
			for _, r := range s.resources {
				if text := flat(r); strings.Contains(text, "*") {
					open[role+" "+strings.Join(s.actions, " ")+" "+text]++
				}
			}
		}
	}
	if len(open) != 4 {
		t.Errorf("resources with a wildcard: %v", open)
	}
	for grant := range open {
		_, grant, _ := strings.Cut(grant, " ")
		parameters := strings.HasPrefix(grant, "ssm:GetParameter ") && strings.Contains(grant, ":parameter/holdfast/*")
		managed := strings.HasPrefix(grant, "secretsmanager:GetSecretValue ") && strings.Contains(grant, ":secret:holdfast/*")
		if !parameters && !managed {
			t.Errorf("not expected: %s", grant)
		}
	}
	for _, role := range m.all("AWS::IAM::Role") {
		role.is(t, nil, "ManagedPolicyArns")
		role.is(t, "lambda.amazonaws.com", "AssumeRolePolicyDocument", "Statement", 0, "Principal", "Service")
	}
}

// TestSecretsReadable: each function reads the secrets that its environment
// names, and the gateway never the admin key.
func TestSecretsReadable(t *testing.T) {
	m := main(t, everything(t))
	rows := map[string][]string{
		"GatewayRole": {"InstallationSecret", "OriginSecret"},
		"ConsoleRole": {"AdminKey", "InstallationSecret"},
	}
	for role, want := range rows {
		var got []string
		for _, s := range m.statements(role) {
			for _, r := range s.resources {
				if id, _ := at(r, "Ref").(string); m.Resources[id].Type == "AWS::SecretsManager::Secret" {
					got = append(got, strings.TrimRight(id, "0123456789ABCDEF"))
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s reads %v, want %v", role, got, want)
		}
	}
}
