// Package s3 keeps blobs in a bucket of an S3-compatible store.
//
// Readers never get its addresses: files are served by this server, with its
// headers and for as long as it says. It must never know what the blobs are.
package s3

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/store"
)

var _ asset.Blobs = (*Bucket)(nil)

// Options name a bucket.
type Options struct {
	Bucket string
	// Prefix begins the names of all objects.
	Prefix string
	// Endpoint is the host of the store; default that of Amazon.
	Endpoint string
	// Insecure speaks HTTP instead of HTTPS.
	Insecure bool
	Region   string
	// Credentials default to those of the environment (AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY), the shared file and the machine's role.
	Credentials *credentials.Credentials
	// Transport carries the requests; nil is the client's own.
	Transport http.RoundTripper
}

// Parse reads s3://bucket/prefix?endpoint=https://host&region=name. Keys are
// never part of it.
func Parse(address string) (Options, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Options{}, fmt.Errorf("s3: %w", err)
	}
	if u.Scheme != "s3" || u.Host == "" {
		return Options{}, fmt.Errorf("s3: %q must look like s3://bucket/prefix", address)
	}
	if u.User != nil {
		return Options{}, errors.New("s3: keys do not belong into the address; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	o := Options{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Endpoint: "s3.amazonaws.com"}
	for key, values := range u.Query() {
		value := values[0]
		switch key {
		case "region":
			o.Region = value
		case "endpoint":
			e, err := url.Parse(value)
			if err != nil || e.Host == "" || e.Scheme != "https" && e.Scheme != "http" || e.Path != "" && e.Path != "/" {
				return Options{}, fmt.Errorf("s3: endpoint %q must look like https://host:port", value)
			}
			o.Endpoint, o.Insecure = e.Host, e.Scheme == "http"
		default:
			return Options{}, fmt.Errorf("s3: %q is not known; there are endpoint and region", key)
		}
	}
	return o, nil
}

// Bucket is a bucket, or the part of it below a prefix. It is safe for
// concurrent use.
type Bucket struct {
	client *minio.Core
	bucket string
	prefix string
}

// partSize is the size of the parts of an upload whose size is not known; one
// part is held in memory.
const partSize = 8 << 20

// Open connects to a bucket and checks that it is there.
func Open(ctx context.Context, o Options) (*Bucket, error) {
	creds := o.Credentials
	if creds == nil {
		creds = credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}})
	}
	client, err := minio.NewCore(o.Endpoint, &minio.Options{Creds: creds, Secure: !o.Insecure, Region: o.Region, Transport: o.Transport})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	b := &Bucket{client: client, bucket: o.Bucket, prefix: o.Prefix}
	ok, err := client.BucketExists(ctx, o.Bucket)
	if err != nil {
		return nil, fmt.Errorf("s3: bucket %s: %w", o.Bucket, err)
	}
	if !ok {
		return nil, fmt.Errorf("s3: there is no bucket %s", o.Bucket)
	}
	return b, nil
}

func (b *Bucket) object(key string) (string, error) {
	if err := asset.CheckKey(key); err != nil {
		return "", err
	}
	return path.Join(b.prefix, key), nil
}

// failure words an error in the errors of stores.
func failure(doing string, err error) error {
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == minio.NoSuchKey, answer.StatusCode == http.StatusNotFound && answer.Code != minio.NoSuchBucket:
		return fmt.Errorf("%s: %w", doing, asset.ErrNoBlob)
	case answer.StatusCode == http.StatusInsufficientStorage, answer.Code == "XMinioStorageFull", answer.Code == "QuotaExceeded":
		return fmt.Errorf("%s: %w: %w", doing, store.ErrFull, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// Put implements asset.Blobs.
func (b *Bucket) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	name, err := b.object(key)
	if err != nil {
		return 0, err
	}
	in := &source{r: r}
	body, size := bufio.NewReader(in), int64(-1)
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		size = 0 // not every store takes an upload of unknown size that is empty
	}
	info, err := b.client.Client.PutObject(ctx, b.bucket, name, body, size, minio.PutObjectOptions{
		PartSize: partSize, ContentType: "application/octet-stream",
		// Digests of each part instead of signed chunks, which not every store
		// understands.
		SendContentMd5: true, DisableContentSha256: true,
	})
	if in.err != nil {
		// What the client makes of a broken reader says less.
		return 0, fmt.Errorf("keep blob: %w", in.err)
	}
	if err != nil {
		return 0, failure("keep blob", err)
	}
	return info.Size, nil
}

// source remembers why reading failed.
type source struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Open implements asset.Blobs.
func (b *Bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	name, err := b.object(key)
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("open blob: at %d", offset)
	}
	var o minio.GetObjectOptions
	if offset > 0 || length >= 0 {
		size, err := b.Stat(ctx, key)
		if err != nil {
			return nil, err
		}
		rest := max(size-offset, 0)
		if length < 0 || length > rest {
			length = rest
		}
		if length == 0 { // no range says so
			return io.NopCloser(strings.NewReader("")), nil
		}
		if err := o.SetRange(offset, offset+length-1); err != nil {
			return nil, fmt.Errorf("open blob: %w", err)
		}
	}
	r, _, _, err := b.client.GetObject(ctx, b.bucket, name, o)
	if err != nil {
		return nil, failure("open blob", err)
	}
	return r, nil
}

// Stat implements asset.Blobs.
func (b *Bucket) Stat(ctx context.Context, key string) (int64, error) {
	name, err := b.object(key)
	if err != nil {
		return 0, err
	}
	info, err := b.client.StatObject(ctx, b.bucket, name, minio.StatObjectOptions{})
	if err != nil {
		return 0, failure("look for blob", err)
	}
	return info.Size, nil
}

// Delete implements asset.Blobs.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	name, err := b.object(key)
	if err != nil {
		return err
	}
	if err := b.client.RemoveObject(ctx, b.bucket, name, minio.RemoveObjectOptions{}); err != nil {
		if err := failure("delete blob", err); !errors.Is(err, asset.ErrNoBlob) {
			return err
		}
	}
	return nil
}
