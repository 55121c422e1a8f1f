package app

import (
	"context"
	"errors"

	"holdfast/affinity/store"
	"holdfast/affinity/store/dynamo"
)

// OpenDynamoDB opens the tables that the environment names, with what credit
// finds where the environment holds no access key. Against an emulator on
// loopback it creates those that are missing; anywhere else they are made by
// the deployment.
func OpenDynamoDB(ctx context.Context, e Environment, credit func(context.Context, dynamo.Config) (dynamo.Config, error)) (store.Store, func(), error) {
	settings, err := credit(ctx, dynamo.Config{Region: e.Region, Endpoint: e.DynamoDB})
	if err != nil {
		return nil, nil, err
	}
	client, err := dynamo.NewClient(settings)
	if err != nil {
		return nil, nil, err
	}
	if err := dynamo.CreateTables(ctx, client, e.TablePrefix); err != nil && !errors.Is(err, dynamo.ErrNotLoopback) {
		return nil, nil, err
	}
	records, err := dynamo.New(dynamo.Config{Client: client, Prefix: e.TablePrefix})
	if err != nil {
		return nil, nil, err
	}
	return records, func() {}, nil
}
