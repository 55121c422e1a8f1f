//go:build cdk

package stack_test

import (
	"strings"
	"testing"

	"holdfast/infra/front"
)

func TestGateway(t *testing.T) {
	m := main(t, plain(t))
	f := m.one("AWS::Lambda::Function", "Gateway")
	f.is(t, "provided.al2023", "Runtime")
	f.is(t, []any{"arm64"}, "Architectures")
	f.is(t, "bootstrap", "Handler")
	f.is(t, 256, "MemorySize")
	f.is(t, 900, "Timeout")
	f.is(t, 50, "ReservedConcurrentExecutions")
	f.is(t, "JSON", "LoggingConfig", "LogFormat")
	logs := m.one("AWS::Logs::LogGroup", "GatewayLogs")
	f.is(t, logs.id, "LoggingConfig", "LogGroup", "Ref")
	logs.is(t, 30, "RetentionInDays")
	logs.is(t, "/holdfast/gateway", "LogGroupName")
	secret := m.one("AWS::SecretsManager::Secret", "Installation")
	f.is(t, map[string]any{
		"HOLDFAST_STORE":        "dynamodb",
		"HOLDFAST_TABLE_PREFIX": "holdfast-",
		"HOLDFAST_LOG_LEVEL":    "info",
		"HOLDFAST_CORS_ORIGINS": "*",
		"HOLDFAST_SECRET":       map[string]any{"Fn::Join": []any{"", []any{"secretsmanager:", map[string]any{"Ref": secret.id}}}},
	}, "Environment", "Variables")
}

// TestSettingsReachTheFunction: a new account's quota is too small for a
// reservation; zero leaves it out, since a reservation of none would stop the
// function.
func TestSettingsReachTheFunction(t *testing.T) {
	s := plain(t)
	s.Endpoint = "http://localstack:4566"
	s.Reserved, s.Architecture, s.LogLevel, s.LogDays, s.Origins = 0, "x86_64", "debug", 7, []string{"https://a.example.com", "https://b.example.com"}
	m := main(t, s)
	f := m.one("AWS::Lambda::Function", "Gateway")
	f.is(t, nil, "ReservedConcurrentExecutions")
	f.is(t, []any{"x86_64"}, "Architectures")
	f.is(t, "debug", "Environment", "Variables", "HOLDFAST_LOG_LEVEL")
	f.is(t, s.Endpoint, "Environment", "Variables", "AWS_ENDPOINT_URL_DYNAMODB")
	f.is(t, "https://a.example.com,https://b.example.com", "Environment", "Variables", "HOLDFAST_CORS_ORIGINS")
	m.one("AWS::Logs::LogGroup", "GatewayLogs").is(t, 7, "RetentionInDays")
	m.one("AWS::Lambda::Url", "Gateway").is(t, s.Origins, "Cors", "AllowOrigins")
}

func TestFunctionURL(t *testing.T) {
	m := main(t, plain(t))
	url := m.one("AWS::Lambda::Url", "Gateway")
	url.is(t, "NONE", "AuthType")
	url.is(t, "RESPONSE_STREAM", "InvokeMode")
	url.is(t, map[string]any{
		"AllowOrigins": []any{"*"}, "AllowMethods": front.Methods(), "AllowHeaders": []any{"*"},
		"ExposeHeaders": front.ExposedHeaders(), "MaxAge": front.PreflightSeconds,
	}, "Cors")
	m.callable("Gateway", url)
}

// callable expects the two permissions that a call through a URL needs, the
// second for calls through the URL only, and no third.
func (m template) callable(name string, url resource) {
	m.t.Helper()
	of := url.prop("TargetFunctionArn")
	if id := m.one("AWS::Lambda::Function", name).id; at(of, "Fn::GetAtt", 0) != id {
		m.t.Errorf("the URL leads to %s, want %s", flat(of), id)
	}
	through := map[string]bool{}
	for _, p := range m.all("AWS::Lambda::Permission") {
		if flat(p.prop("FunctionName")) != flat(of) {
			continue
		}
		p.is(m.t, "*", "Principal")
		switch action, _ := p.prop("Action").(string); action {
		case "lambda:InvokeFunctionUrl":
			p.is(m.t, "NONE", "FunctionUrlAuthType")
			through[action] = true
		case "lambda:InvokeFunction":
			p.is(m.t, true, "InvokedViaFunctionUrl")
			through[action] = true
		default:
			m.t.Errorf("anybody may %s", action)
		}
	}
	if len(through) != 2 {
		m.t.Errorf("permissions %v, want both", through)
	}
}

// TestConsole: it has a function of its own, which other origins cannot call
// and which takes nothing from the gateway's reservation.
func TestConsole(t *testing.T) {
	if n := len(main(t, plain(t)).all("AWS::Lambda::Function")); n != 1 {
		t.Errorf("%d functions without a built console, want the gateway alone", n)
	}
	m := main(t, everything(t))
	f, url := m.one("AWS::Lambda::Function", "Console"), m.one("AWS::Lambda::Url", "Console")
	f.is(t, "provided.al2023", "Runtime")
	f.is(t, 60, "Timeout")
	f.is(t, nil, "ReservedConcurrentExecutions")
	url.is(t, "RESPONSE_STREAM", "InvokeMode")
	url.is(t, nil, "Cors")
	m.callable("Console", url)
	admin, _ := f.prop("Environment", "Variables", "HOLDFAST_ADMIN_KEY", "Fn::Join", 1, 0).(string)
	if admin != "secretsmanager:" {
		t.Errorf("the admin key is %s, want a reference", flat(f.prop("Environment", "Variables", "HOLDFAST_ADMIN_KEY")))
	}
	f.is(t, "https://llm.example.com", "Environment", "Variables", "HOLDFAST_GATEWAY_URL")
	direct := everything(t)
	direct.Edge = nil
	gateway := flat(main(t, direct).one("AWS::Lambda::Function", "Console").prop("Environment", "Variables", "HOLDFAST_GATEWAY_URL"))
	if !strings.Contains(gateway, `"FunctionUrl"`) {
		t.Errorf("without a domain the gateway is at %s", gateway)
	}
	m.one("AWS::Logs::LogGroup", "ConsoleLogs").is(t, 30, "RetentionInDays")
}
