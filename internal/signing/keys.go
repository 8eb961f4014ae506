package signing

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// keyFile is the written form of a ring: the first key signs.
type keyFile struct {
	Keys []keyEntry `json:"keys"`
}

type keyEntry struct {
	ID     string `json:"id"`
	Secret []byte `json:"secret"` // base64
}

// Parse reads a ring from JSON: {"keys":[{"id":…,"secret":base64}]}. The first
// key signs, the others are still believed.
func Parse(data []byte) (*Ring, error) {
	var f keyFile
	if err := json.Unmarshal(data, &f); err != nil {
		// What cannot be read may be a secret: its text stays out of the error.
		if encoding := base64.CorruptInputError(0); errors.As(err, &encoding) {
			return nil, errors.New("the secret of a signing key is not in base64")
		}
		return nil, errors.New("signing keys are not JSON of the form {\"keys\":[{\"id\",\"secret\"}]}")
	}
	if len(f.Keys) == 0 {
		return nil, errors.New("no signing key")
	}
	keys := make([]Key, 0, len(f.Keys))
	for _, e := range f.Keys {
		keys = append(keys, Key(e))
	}
	return New(keys[0], keys[1:]...)
}

// Load reads a ring from a file, which is made with a new key when there is
// none. Processes that start together on one file agree on one key.
func Load(path string) (*Ring, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = create(path); err == nil {
			data, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("signing keys in %s: %w", path, err)
	}
	return r, nil
}

// Generate returns a new random key.
func Generate() Key {
	k := Key{Secret: make([]byte, MinSecret)}
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	_, _ = rand.Read(k.Secret)
	k.ID = hex.EncodeToString(id[:])
	return k
}

// create writes a file with one new key, readable by its owner only. It is
// complete before it has its name; another process's file is left as it is.
func create(path string) error {
	data, err := json.MarshalIndent(keyFile{Keys: []keyEntry{keyEntry(Generate())}}, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // the name only; the file has another
	_, err = tmp.Write(append(data, '\n'))
	if err == nil {
		err = tmp.Sync()
	}
	if err := errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links: a rename, which the last process wins.
		if _, missing := os.Stat(path); missing == nil {
			return nil
		}
		return os.Rename(tmp.Name(), path)
	}
	return nil
}
