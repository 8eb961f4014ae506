package s3

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/asset/blobtest"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

// server is a store in memory that speaks the protocol.
func server(t *testing.T, wrap func(http.Handler) http.Handler) Options {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(backend).Server()
	if wrap != nil {
		h = wrap(h)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o, err := Parse("s3://files/some/prefix?region=us-east-1&endpoint=" + srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.Credentials = credentials.NewStaticV4("sample", "sample-secret", "")
	return o
}

func bucket(t *testing.T, o Options) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) asset.Blobs { return bucket(t, server(t, nil)) })
}

func TestParse(t *testing.T) {
	o, err := Parse("s3://files/a/b/?endpoint=http://127.0.0.1:9000&region=eu-central-1")
	if err != nil || o.Bucket != "files" || o.Prefix != "a/b" || o.Endpoint != "127.0.0.1:9000" || !o.Insecure || o.Region != "eu-central-1" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := Parse("s3://files"); err != nil || o.Endpoint != "s3.amazonaws.com" || o.Insecure {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"", "s3:", "s3://", "https://files", "s3://key:secret@files", "s3://files?endpoint=host", "s3://files?endpoint=ftp://host", "s3://files?endpoint=https://host/path", "s3://files?acl=public", "s3://files\x7f"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		} else if strings.Contains(err.Error(), "secret@") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

func TestNoBucket(t *testing.T) {
	o := server(t, nil)
	o.Bucket = "other"
	if _, err := Open(t.Context(), o); err == nil {
		t.Error("a bucket that is not there was opened")
	}
}

// A store that fails says so, and one that is full says that.
func TestFailures(t *testing.T) {
	var answer atomic.Pointer[string]
	o := server(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if code := answer.Load(); code != nil {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(http.StatusInsufficientStorage)
				_, _ = w.Write([]byte("<Error><Code>" + *code + "</Code><Message>no</Message></Error>"))
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	b := bucket(t, o)
	full := "XMinioStorageFull"
	answer.Store(&full)
	if _, err := b.Put(t.Context(), id.New("a"), strings.NewReader("x")); !errors.Is(err, store.ErrFull) {
		t.Errorf("a full store: %v", err)
	}
	answer.Store(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Stat(ctx, id.New("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that has left: %v", err)
	}
}
