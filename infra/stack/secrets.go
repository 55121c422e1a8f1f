//go:build cdk

package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"holdfast/infra/settings"
)

// secrets are made here, at random, and never leave Secrets Manager but to the
// function that uses them. Their names lie outside the path below which the
// gateway reads providers' keys.
type secrets struct {
	installation awssecretsmanager.Secret // keys every hash that leaves the gateway
	admin        awssecretsmanager.Secret // opens the admin API and the console
	origin       awssecretsmanager.Secret // CloudFront's proof; nil without it
}

func addSecrets(stack awscdk.Stack, s settings.Settings) secrets {
	made := secrets{
		installation: addSecret(stack, "InstallationSecret", "Keys every hash that leaves the gateway: session names, upstream hints, cookies",
			"A rotation would rename every session and cool every prompt cache."),
		admin: addSecret(stack, "AdminKey", "The first admin key: opens the admin API and the console",
			"An operator replaces it when people leave; the console signs everybody out then."),
	}
	made.installation.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN)
	if s.Edge != nil {
		made.origin = addSecret(stack, "OriginSecret", "CloudFront adds it to every request; the gateway refuses those without it",
			"A rotation would have to reach CloudFront and every running function at one moment.")
	}
	output(stack, "AdminKeySecret", *made.admin.SecretArn(), "Where the first admin key is: aws secretsmanager get-secret-value --secret-id …")
	return made
}

func addSecret(stack awscdk.Stack, name, description, whyNotRotated string) awssecretsmanager.Secret {
	secret := awssecretsmanager.NewSecret(stack, jsii.String(name), &awssecretsmanager.SecretProps{
		Description: jsii.String(description),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			PasswordLength: jsii.Number(48), ExcludePunctuation: jsii.Bool(true),
		},
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	suppress(secret, "AwsSolutions-SMG4", whyNotRotated)
	return secret
}

// reference is how a function's environment names a secret.
func reference(secret awssecretsmanager.Secret) *string {
	return jsii.String("secretsmanager:" + *secret.SecretArn())
}
