package chain_test

import (
	"os"
	"path/filepath"
	"testing"

	"holdfast/affinity/store/dynamo"
	"holdfast/affinity/store/dynamo/chain"
)

// TestCredit shows that a profile's key and region are found, that the
// environment's key comes first, and that an emulator gets neither.
func TestCredit(t *testing.T) {
	folder := t.TempDir()
	profile := filepath.Join(folder, "credentials")
	if err := os.WriteFile(profile, []byte("[work]\naws_access_key_id = PROFILE\naws_secret_access_key = secret\nregion = eu-north-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name        string
		config      dynamo.Config
		environment map[string]string
		region, key string
	}{
		{"a profile", dynamo.Config{}, nil, "eu-north-1", "PROFILE"},
		{"another region", dynamo.Config{Region: "eu-west-1"}, nil, "eu-west-1", "PROFILE"},
		{"a key of the environment", dynamo.Config{}, map[string]string{"AWS_ACCESS_KEY_ID": "ENVIRONMENT", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_PROFILE": ""}, "eu-west-2", "ENVIRONMENT"},
		{"an emulator", dynamo.Config{Endpoint: "http://127.0.0.1:1"}, nil, "us-east-1", "local"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_DYNAMODB"} {
				t.Setenv(name, "")
			}
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", profile)
			t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			t.Setenv("AWS_PROFILE", "work")
			if row.environment != nil {
				t.Setenv("AWS_REGION", row.region)
			}
			for name, value := range row.environment {
				t.Setenv(name, value)
			}
			credited, err := chain.Credit(t.Context(), row.config)
			if err != nil {
				t.Fatal(err)
			}
			client, err := dynamo.NewClient(credited)
			if err != nil {
				t.Fatal(err)
			}
			got, err := client.Options().Credentials.Retrieve(t.Context())
			if err != nil || got.AccessKeyID != row.key || client.Options().Region != row.region {
				t.Errorf("key %q in %q, %v; want %q in %q", got.AccessKeyID, client.Options().Region, err, row.key, row.region)
			}
		})
	}
}
