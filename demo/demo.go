// Package demo is what the built-in demonstration shows: sample data in a
// SQLite file, tools over it, and the server's own request log as a live
// source.
//
// It uses what any product would use: packages tool and action, and tool/sqltool
// for the tools that need no Go. Sales, orders, expenses, products and trains are
// invented and say so; the other data is the U.S. government's
// (data/SOURCES.md). It must never know of turns, storage or HTTP handlers.
package demo

import (
	"context"
	"database/sql"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/sqltool"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// The databases in the data directory. The request log stands apart: a model may
// propose statements about it, and they must find nothing else.
const (
	FileName = "demo.db"
	LogName  = "demo-requests.db"
)

// dataVersion grows when the data or its tables change; a file of another
// version is loaded anew.
const dataVersion = 2

//go:embed data/*.csv
var files embed.FS

// Demo is the open demonstration. It is safe for concurrent use.
type Demo struct {
	db       *sql.DB         // for what the demonstration writes
	source   *sqltool.Source // for what its tools read
	logDB    *sql.DB
	logs     *sqltool.Source // for statements about the request log
	requests *RequestLog
	tools    []tool.Tool
	actions  []action.Def
	// What takes its time so that its progress can be seen.
	exportTime time.Duration // a whole export
	stepTime   time.Duration // a step of the rollout
	trainTime  time.Duration // the data of trains
}

// Open opens the demonstration in a directory and loads the data at the first
// start.
func Open(ctx context.Context, dir string) (*Demo, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	path := filepath.Join(dir, FileName)
	d := &Demo{exportTime: 3 * time.Second, stepTime: 700 * time.Millisecond, trainTime: 1200 * time.Millisecond}
	ok := false
	defer func() {
		if !ok {
			_ = d.Close()
		}
	}()
	var err error
	if d.db, err = openFile(path); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	if err := load(ctx, d.db); err != nil {
		return nil, fmt.Errorf("load demo data into %s: %w", path, err)
	}
	if d.source, err = sqltool.Open(sqltool.Config{DSN: "sqlite:" + path}); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	logPath := filepath.Join(dir, LogName)
	if d.logDB, err = openFile(logPath); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	if _, err := d.logDB.ExecContext(ctx, logTables); err != nil {
		return nil, fmt.Errorf("open the request log %s: %w", logPath, err)
	}
	if d.logs, err = sqltool.Open(sqltool.Config{DSN: "sqlite:" + logPath}); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	d.requests = newRequestLog(d.logDB)
	if d.tools, err = d.makeTools(); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	if d.actions, err = d.makeActions(); err != nil {
		return nil, fmt.Errorf("open demo: %w", err)
	}
	ok = true
	return d, nil
}

func openFile(path string) (*sql.DB, error) {
	q := url.Values{"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"}, "_txlock": {"immediate"}}
	name := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite", "file:"+name+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2) // the request log writes while a tool reads
	return db, nil
}

// Tools returns the tools of the demonstration.
func (d *Demo) Tools() []tool.Tool { return d.tools }

// Actions returns what can be done with the blocks of the demonstration.
func (d *Demo) Actions() []action.Def { return d.actions }

// RequestLog returns the log that show_server_errors reads.
func (d *Demo) RequestLog() *RequestLog { return d.requests }

// Source returns the demonstration's database, read-only.
func (d *Demo) Source() *sqltool.Source { return d.source }

// Close writes what the request log holds and closes the database.
func (d *Demo) Close() error {
	var errs []error
	if d.requests != nil {
		errs = append(errs, d.requests.close())
	}
	for _, s := range []*sqltool.Source{d.source, d.logs} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	for _, db := range []*sql.DB{d.db, d.logDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// tables are made from the embedded files; the columns of a file are those of
// its table.
var tables = []struct{ name, create string }{
	{"sales", `CREATE TABLE sales (quarter TEXT NOT NULL, region TEXT NOT NULL, region_zh TEXT NOT NULL, city TEXT NOT NULL,
		city_zh TEXT NOT NULL, amount INTEGER NOT NULL, orders INTEGER NOT NULL, PRIMARY KEY (quarter, city)) WITHOUT ROWID`},
	{"orders", `CREATE TABLE orders (number TEXT NOT NULL PRIMARY KEY, placed DATE NOT NULL, customer TEXT NOT NULL, city TEXT NOT NULL,
		product TEXT NOT NULL, quantity INTEGER NOT NULL, amount REAL NOT NULL, status TEXT NOT NULL) WITHOUT ROWID`},
	{"products", `CREATE TABLE products (id TEXT NOT NULL PRIMARY KEY, en TEXT NOT NULL, zh TEXT NOT NULL, price INTEGER NOT NULL, days INTEGER NOT NULL,
		grams INTEGER NOT NULL, stock INTEGER NOT NULL, strap TEXT NOT NULL)`},
	{"trains", `CREATE TABLE trains (number TEXT NOT NULL PRIMARY KEY, origin TEXT NOT NULL, origin_zh TEXT NOT NULL, destination TEXT NOT NULL,
		destination_zh TEXT NOT NULL, departs TEXT NOT NULL, minutes INTEGER NOT NULL, platform TEXT NOT NULL, status TEXT NOT NULL) WITHOUT ROWID`},
	{"train_seats", `CREATE TABLE train_seats (number TEXT NOT NULL, class TEXT NOT NULL, class_zh TEXT NOT NULL, rank INTEGER NOT NULL,
		price INTEGER NOT NULL, available INTEGER NOT NULL, PRIMARY KEY (number, rank)) WITHOUT ROWID`},
	{"unemployment", `CREATE TABLE unemployment (month TEXT NOT NULL, industry TEXT NOT NULL, unemployed INTEGER NOT NULL,
		rate REAL NOT NULL, PRIMARY KEY (month, industry)) WITHOUT ROWID`},
	{"airports", `CREATE TABLE airports (iata TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, state TEXT NOT NULL) WITHOUT ROWID`},
}

// kept are the tables that outlive a new version of the data.
const kept = `
CREATE TABLE IF NOT EXISTS broken_source (key TEXT NOT NULL PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS expenses (owner TEXT NOT NULL, number TEXT NOT NULL, spent DATE NOT NULL, person TEXT NOT NULL, purpose TEXT NOT NULL,
	purpose_zh TEXT NOT NULL, amount REAL NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', PRIMARY KEY (owner, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS expense_calls (call TEXT NOT NULL PRIMARY KEY, removed INTEGER NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS watched (owner TEXT NOT NULL, product TEXT NOT NULL, PRIMARY KEY (owner, product)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS basket (call TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, product TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;`

func load(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, kept); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var have int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("read version: %w", err)
	}
	if have == dataVersion {
		return nil
	}
	for _, t := range tables {
		if _, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+t.name); err != nil {
			return fmt.Errorf("drop %s: %w", t.name, err)
		}
		if _, err := tx.ExecContext(ctx, t.create); err != nil {
			return fmt.Errorf("create %s: %w", t.name, err)
		}
		if err := loadFile(ctx, tx, t.name); err != nil {
			return fmt.Errorf("load %s: %w", t.name, err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", dataVersion)); err != nil {
		return fmt.Errorf("write version: %w", err)
	}
	return tx.Commit()
}

func loadFile(ctx context.Context, tx *sql.Tx, table string) error {
	f, err := files.Open("data/" + table + ".csv")
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(f)
	head, err := r.Read()
	if err != nil {
		return err
	}
	st, err := tx.PrepareContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)",
		table, strings.Join(head, ", "), strings.Repeat(", ?", len(head)-1)))
	if err != nil {
		return err
	}
	defer st.Close()
	values := make([]any, len(head))
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, v := range rec {
			values[i] = v // numbers by the affinity of the column
		}
		if _, err := st.ExecContext(ctx, values...); err != nil {
			return err
		}
	}
}

// Suggestions returns questions to begin with, in "zh" or, for any other
// language, English.
func (d *Demo) Suggestions(lang string) []string {
	if isChinese(lang) {
		return []string{
			"2026Q3 各区域销售额是多少？",
			"线上 500 多不多？",
			"导出订单明细",
			"给我 2026Q3 的报表",
			"列出金额最高的 500 个订单",
			"推荐跑步手表",
			"明天去上海的高铁",
			"推荐几款跑步手表",
			"报销审批",
			"怎么入金？",
			"展示各种图表",
			"美国各行业失业率是怎么变化的？",
			"从一个会失败一次的数据源读取",
		}
	}
	return []string{
		"Show 2026Q3 sales by region",
		"How many 500s are there?",
		"Export the order details",
		"Give me the report of 2026Q3",
		"List the top 500 orders",
		"Recommend a running watch",
		"The train to Shanghai tomorrow",
		"Compare watches for running",
		"Approve an expense",
		"How do I deposit?",
		"Show every chart type",
		"How did U.S. unemployment develop by industry?",
		"Read from a source that fails once",
	}
}

func isChinese(lang string) bool { return strings.HasPrefix(strings.ToLower(lang), "zh") }
