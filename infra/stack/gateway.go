//go:build cdk

package stack

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/front"
	"holdfast/infra/settings"
)

// Bounds of a function, in the units that Lambda takes.
const (
	memoryMB       = 256
	gatewayMinutes = 15 // Lambda's own limit: the longest answer there can be
)

// function is a function with its URL and its log.
type function struct {
	function awslambda.Function
	url      awslambda.FunctionUrl
	logs     awslogs.LogGroup
}

// addGateway makes the data plane.
func addGateway(stack awscdk.Stack, s settings.Settings, all tables, kept secrets) function {
	logs := addLogs(stack, "GatewayLogs", "/"+s.Stem()+"/gateway", s.LogDays)
	role := addRole(stack, "GatewayRole", logs, all, gatewayAccess())
	allow(role, []string{"secretsmanager:GetSecretValue"}, *kept.installation.SecretArn())
	environment := map[string]*string{
		"HOLDFAST_STORE":        jsii.String("dynamodb"),
		"HOLDFAST_TABLE_PREFIX": jsii.String(s.Prefix),
		"HOLDFAST_SECRET":       reference(kept.installation),
		"HOLDFAST_LOG_LEVEL":    jsii.String(s.LogLevel),
		"HOLDFAST_CORS_ORIGINS": jsii.String(strings.Join(s.Origins, ",")),
	}
	if kept.origin != nil {
		allow(role, []string{"secretsmanager:GetSecretValue"}, *kept.origin.SecretArn())
		environment[front.OriginVariable] = reference(kept.origin)
	}
	allowProviderSecrets(stack, role, s)
	allowBedrock(stack, role, s)
	made := addFunction(stack, s, program{"Gateway", s.Gateway, role, logs, environment, gatewayMinutes})
	if s.Reserved > 0 {
		cfn(made).SetReservedConcurrentExecutions(jsii.Number(s.Reserved))
	}
	url := addURL(made, cors(s))
	output(stack, "GatewayURL", *url.Url(), "Base URL of Anthropic clients; those of OpenAI add /v1")
	output(stack, "GatewayLogGroup", *logs.LogGroupName(), "aws logs tail NAME --follow")
	output(stack, "ProviderKeys", "/"+s.Stem()+"/", "Where the gateway reads providers' keys: SecureString parameters below this path, as ssm:/…")
	return function{made, url, logs}
}

// cors lets pages of the chosen origins call, with a key in a header and never
// with cookies. Lambda answers preflights by itself.
func cors(s settings.Settings) *awslambda.FunctionUrlCorsOptions {
	var methods []awslambda.HttpMethod
	for _, name := range front.Methods() {
		methods = append(methods, awslambda.HttpMethod(name))
	}
	return &awslambda.FunctionUrlCorsOptions{
		AllowedOrigins: jsii.Strings(s.Origins...),
		AllowedMethods: &methods,
		AllowedHeaders: jsii.Strings("*"),
		ExposedHeaders: jsii.Strings(front.ExposedHeaders()...),
		MaxAge:         awscdk.Duration_Seconds(jsii.Number(front.PreflightSeconds)),
	}
}

// addConsole makes the admin API and the web console. It serves its own pages
// only, so that no other origin may call it.
func addConsole(stack awscdk.Stack, s settings.Settings, all tables, kept secrets, gateway function) {
	logs := addLogs(stack, "ConsoleLogs", "/"+s.Stem()+"/console", s.LogDays)
	role := addRole(stack, "ConsoleRole", logs, all, consoleAccess())
	allow(role, []string{"secretsmanager:GetSecretValue"}, *kept.installation.SecretArn(), *kept.admin.SecretArn())
	allowProviderSecrets(stack, role, s) // callers' keys may be kept there too: who signs in with one, and who puts a document, is checked against them
	made := addFunction(stack, s, program{"Console", s.Console, role, logs, map[string]*string{
		"HOLDFAST_STORE":        jsii.String("dynamodb"),
		"HOLDFAST_TABLE_PREFIX": jsii.String(s.Prefix),
		"HOLDFAST_SECRET":       reference(kept.installation),
		"HOLDFAST_ADMIN_KEY":    reference(kept.admin),
		"HOLDFAST_LOG_LEVEL":    jsii.String(s.LogLevel),
		"HOLDFAST_GATEWAY_URL":  publicURL(s, gateway),
	}, 1})
	url := addURL(made, nil)
	output(stack, "ConsoleURL", *url.Url(), "The console; sign in with the admin key")
}

// publicURL is where browsers reach the gateway: by the domain where there is
// one, since the function URL refuses what has not come through CloudFront.
func publicURL(s settings.Settings, gateway function) *string {
	if s.Edge != nil {
		return jsii.String("https://" + s.Edge.Domain)
	}
	return gateway.url.Url()
}

func addLogs(stack awscdk.Stack, name, group string, days int) awslogs.LogGroup {
	logs := awslogs.NewLogGroup(stack, jsii.String(name), &awslogs.LogGroupProps{
		LogGroupName: jsii.String(group), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	// Settings has checked that CloudWatch offers this number of days.
	logs.Node().DefaultChild().(awslogs.CfnLogGroup).SetRetentionInDays(jsii.Number(days))
	return logs
}

// program is what one function differs by from another.
type program struct {
	name        string
	asset       string // path of a zip or a folder with the executable `bootstrap`
	role        awsiam.Role
	logs        awslogs.LogGroup
	environment map[string]*string
	minutes     int // until Lambda ends an invocation
}

func addFunction(stack awscdk.Stack, s settings.Settings, p program) awslambda.Function {
	if s.Endpoint != "" {
		p.environment["AWS_ENDPOINT_URL"] = jsii.String(s.Endpoint)
		p.environment["AWS_ENDPOINT_URL_DYNAMODB"] = jsii.String(s.Endpoint)
	}
	architecture := awslambda.Architecture_ARM_64()
	if s.Architecture == "x86_64" {
		architecture = awslambda.Architecture_X86_64()
	}
	return awslambda.NewFunction(stack, jsii.String(p.name), &awslambda.FunctionProps{
		FunctionName:  jsii.String(s.Stem() + "-" + strings.ToLower(p.name)),
		Runtime:       awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:  architecture,
		Handler:       jsii.String("bootstrap"),
		Code:          awslambda.Code_FromAsset(jsii.String(p.asset), nil),
		MemorySize:    jsii.Number(memoryMB),
		Timeout:       awscdk.Duration_Minutes(jsii.Number(p.minutes)),
		Role:          p.role,
		LogGroup:      p.logs,
		LoggingFormat: awslambda.LoggingFormat_JSON,
		Environment:   &p.environment,
	})
}

func cfn(f awslambda.Function) awslambda.CfnFunction {
	return f.Node().DefaultChild().(awslambda.CfnFunction)
}

// addURL gives a function its URL. Anybody may call it: keys are checked in
// code, since clients send no AWS signatures. New URLs need two permissions;
// the second holds for calls through the URL only.
func addURL(f awslambda.Function, allowed *awslambda.FunctionUrlCorsOptions) awslambda.FunctionUrl {
	return f.AddFunctionUrl(&awslambda.FunctionUrlOptions{
		AuthType:   awslambda.FunctionUrlAuthType_NONE,
		InvokeMode: awslambda.InvokeMode_RESPONSE_STREAM,
		Cors:       allowed,
	})
}
