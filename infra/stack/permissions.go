//go:build cdk

package stack

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/settings"
	"holdfast/infra/table"
)

// What may be done with a table's items. There is no action for deleting, which
// is a write of an emptied item, and none for reading a whole table.
const (
	get    = "dynamodb:GetItem"
	batch  = "dynamodb:BatchGetItem"
	put    = "dynamodb:PutItem"
	update = "dynamodb:UpdateItem"
	query  = "dynamodb:Query"
)

// access lists the actions on each table, by its plain name.
type access map[string][]string

// gatewayAccess is what answering a request needs. Whoever takes the gateway
// over can neither give out keys nor change where requests go.
func gatewayAccess() access {
	return access{
		table.Affinity: {batch, get, put, update},
		table.State:    {batch, get, put, query, update},
		table.Config:   {batch, get},
		table.Ledger:   {batch, get, put, update},
	}
}

// consoleAccess is what the admin API and the console need: they change
// configuration and preferences, and only read what was answered and spent.
func consoleAccess() access {
	return access{
		table.Affinity: {batch, get, put, query, update},
		table.State:    {batch, get, query},
		table.Config:   {batch, get, put, query, update},
		table.Ledger:   {batch, get, query},
	}
}

// addRole makes a function's role: its own log group, the tables, nothing else.
func addRole(stack awscdk.Stack, name string, logs awslogs.LogGroup, all tables, may access) awsiam.Role {
	role := awsiam.NewRole(stack, jsii.String(name), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	allow(role, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, *logs.LogGroupArn())
	for _, described := range table.All() {
		actions := may[described.Name]
		resources := []string{*all[described.Name].TableArn()}
		if described.Indexed && slices.Contains(actions, query) {
			resources = append(resources, *all[described.Name].TableArn()+"/index/"+table.Index)
		}
		allow(role, actions, resources...)
	}
	return role
}

// allowProviderSecrets lets a role read what operators store below the stem.
func allowProviderSecrets(stack awscdk.Stack, role awsiam.Role, s settings.Settings) {
	parameters := stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("ssm"), Resource: jsii.String("parameter"), ResourceName: jsii.String(s.Stem() + "/*"),
	})
	managed := stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("secretsmanager"), Resource: jsii.String("secret"), ResourceName: jsii.String(s.Stem() + "/*"),
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
	allow(role, []string{"ssm:GetParameter"}, *parameters)
	allow(role, []string{"secretsmanager:GetSecretValue"}, *managed)
	suppress(role, "AwsSolutions-IAM5",
		"Providers' keys are added and named by the operator while the gateway runs; the path below which the role reads them is the grant.",
		`/^Resource::arn:.*:(parameter\/|secret:)`+s.Stem()+`\/\*$/`)
}

// allowBedrock lets a role invoke models by its own signatures: where an
// operator's document has connections that sign, and nothing beyond invoking.
// Which models and regions those are changes with the document.
func allowBedrock(stack awscdk.Stack, role awsiam.Role, s settings.Settings) {
	if len(s.Bedrock) == 0 {
		return
	}
	arn := func(service, account, resource string) string {
		return *stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String(service), Region: jsii.String("*"), Account: jsii.String(account),
			Resource: jsii.String(resource), ResourceName: jsii.String("*"),
		})
	}
	own := *stack.Account()
	if slices.Contains(s.Bedrock, settings.BedrockRuntime) {
		allow(role, []string{"bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"},
			arn("bedrock", "", "foundation-model"), arn("bedrock", own, "inference-profile"), arn("bedrock", own, "application-inference-profile"))
	}
	if slices.Contains(s.Bedrock, settings.BedrockMantle) {
		allow(role, []string{"bedrock-mantle:CreateInference"}, arn("bedrock-mantle", own, "project"))
	}
	suppress(role, "AwsSolutions-IAM5",
		"Models, inference profiles and regions are named by the operator's document while the gateway runs; the role may invoke them and nothing else.",
		`/^Resource::arn:.*:bedrock(-mantle)?:\*:.*:(foundation-model|inference-profile|application-inference-profile|project)\/\*$/`)
}

func allow(role awsiam.Role, actions []string, resources ...string) {
	role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Effect: awsiam.Effect_ALLOW, Actions: jsii.Strings(actions...), Resources: jsii.Strings(resources...),
	}))
}
