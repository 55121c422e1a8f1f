package app

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"holdfast/affinity/store/dynamo"
)

// signatory finds region and credentials for requests that AWS signatures open:
// the access key of the environment, where Lambda puts its role's, else what
// Credit finds. There may be none.
func (o Options) signatory(ctx context.Context) (string, aws.CredentialsProvider, error) {
	variable := lookup(o.Environ)
	region, set := variable("AWS_REGION")
	if !set || region == "" {
		region, _ = variable("AWS_DEFAULT_REGION")
	}
	id, _ := variable("AWS_ACCESS_KEY_ID")
	secret, _ := variable("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" {
		token, _ := variable("AWS_SESSION_TOKEN")
		return region, credentials.NewStaticCredentialsProvider(id, secret, token), nil
	}
	if o.Credit == nil {
		return region, nil, nil
	}
	found, err := o.Credit(ctx, dynamo.Config{Region: region})
	return found.Region, found.Credentials, err
}
