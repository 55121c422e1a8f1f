package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// answered is how the SDK wraps whatever follows an HTTP answer; without an
// answer it does the same with status 0.
func answered(status int, err error) error {
	return &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err,
	}
}

func TestClassify(t *testing.T) {
	cut := errors.New("connection cut")
	api := func(code string) error { return &smithy.GenericAPIError{Code: code} }
	send := answered(0, &smithyhttp.RequestSendError{Err: cut})
	canceled := answered(0, &smithy.CanceledError{Err: context.DeadlineExceeded})
	for _, row := range []struct {
		name       string
		err        error
		asked, got bool // for and of a connection
		want       end
	}{
		{"success", nil, true, true, done},
		{"condition", answered(400, &types.ConditionalCheckFailedException{}), true, true, conflict},
		{"throttled", answered(400, &types.ProvisionedThroughputExceededException{}), true, true, busy},
		{"throttled, general", answered(400, api("ThrottlingException")), true, true, busy},
		{"request limit", answered(400, &types.RequestLimitExceeded{}), true, true, busy},
		{"429", answered(429, cut), true, true, busy},
		{"denied", answered(400, api("AccessDeniedException")), true, true, refused},
		{"no such table", answered(400, &types.ResourceNotFoundException{}), true, true, refused},
		{"500", answered(500, &types.InternalServerError{}), true, true, faulty},
		{"503", answered(503, api("ServiceUnavailable")), true, true, faulty},
		{"success that cannot be read", answered(200, cut), true, true, lost},
		{"redirect", answered(307, cut), true, true, lost},
		{"cut after a connection", send, true, true, lost},
		{"deadline after a connection", canceled, true, true, lost},
		{"no connection", send, true, false, busy},
		{"deadline before a connection", canceled, true, false, busy},
		{"foreign transport: nothing is known", send, false, false, lost},
		{"foreign transport: deadline", canceled, false, false, lost},
		{"not even signed", errors.New("no credentials"), false, false, busy},
	} {
		var l line
		l.asked.Store(row.asked)
		l.got.Store(row.got)
		err := row.err
		if err != nil {
			err = fmt.Errorf("operation: %w", err)
		}
		if got := classify(err, &l); got != row.want {
			t.Errorf("%s: end %d, want %d", row.name, got, row.want)
		}
	}
}
