package sqltool

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// program finds a database server's program. Its absence skips the test
// except in CI, where it fails.
func program(t *testing.T, patterns ...string) string {
	t.Helper()
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			slices.Sort(found)
			return found[len(found)-1]
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("none of %q is installed", patterns)
	}
	t.Skipf("none of %q is installed", patterns)
	return ""
}

// server is how a database server is run in a directory of its own.
type server struct {
	account string // used when the test runs as root, whom servers refuse
	dir     string
	port    string
}

func newServer(t *testing.T, account string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "sqltool")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{account: account, dir: dir, port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	l.Close()
	if cred := s.credential(t); cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *server) credential(t *testing.T) *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup(s.account)
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *server) command(t *testing.T, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential(t)}
	return cmd
}

func (s *server) setUp(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := s.command(t, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// start runs the server until the test ends and opens it for writing.
func (s *server) start(t *testing.T, dsn, name string, args ...string) *Source {
	t.Helper()
	cmd := s.command(t, name, args...)
	log, err := os.Create(filepath.Join(s.dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		log.Close()
	})
	src := open(t, Config{DSN: dsn, ReadOnly: new(bool)})
	for deadline := time.Now().Add(time.Minute); ; {
		err := src.Ping(context.Background())
		if err == nil {
			return src
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the server does not answer: %v\n%s", err, text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func startPostgres(t *testing.T) (write, read *Source) {
	bin := filepath.Dir(program(t, "/usr/lib/postgresql/*/bin/initdb"))
	s := newServer(t, "postgres")
	data := filepath.Join(s.dir, "data")
	s.setUp(t, filepath.Join(bin, "initdb"), "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	dsn := fmt.Sprintf("postgres://tester@127.0.0.1:%s/postgres?sslmode=disable", s.port)
	write = s.start(t, dsn, filepath.Join(bin, "postgres"), "-D", data, "-h", "127.0.0.1", "-p", s.port, "-k", s.dir, "-F")
	return write, open(t, Config{DSN: dsn, MaxRows: 3, Timeout: 2 * time.Second})
}

func startMySQL(t *testing.T) (write, read *Source) {
	daemon := program(t, "/usr/sbin/mariadbd", "/usr/sbin/mysqld")
	install := program(t, "/usr/bin/mariadb-install-db", "/usr/bin/mysql_install_db")
	s := newServer(t, "mysql")
	data := filepath.Join(s.dir, "data")
	s.setUp(t, install, "--no-defaults", "--datadir="+data, "--auth-root-authentication-method=normal", "--skip-test-db")
	// root may log in without a password, and only from this machine.
	dsn := fmt.Sprintf("mysql://root@127.0.0.1:%s/mysql", s.port)
	write = s.start(t, dsn, daemon, "--no-defaults", "--datadir="+data, "--bind-address=127.0.0.1", "--port="+s.port,
		"--socket="+filepath.Join(s.dir, "socket"), "--pid-file="+filepath.Join(s.dir, "pid"))
	return write, open(t, Config{DSN: dsn, MaxRows: 3, Timeout: 2 * time.Second})
}

func open(t *testing.T, c Config) *Source {
	t.Helper()
	src, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}
