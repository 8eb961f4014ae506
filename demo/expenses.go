package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// expense is a sample expense that somebody has claimed.
type expense struct {
	number, spent, person, purpose, purposeZh string
	amount                                    float64
	status, reason                            string
}

// sampleExpenses are what everybody finds at first.
var sampleExpenses = []expense{
	{number: "E-1001", spent: "2026-09-03", person: "Sample person 3", purpose: "Train to the sample fair", purposeZh: "去示例展会的高铁", amount: 486.5},
	{number: "E-1002", spent: "2026-09-11", person: "Sample person 8", purpose: "Two sample lamps", purposeZh: "两盏示例台灯", amount: 378},
	{number: "E-1003", spent: "2026-09-18", person: "Sample person 5", purpose: "Dinner with a sample customer", purposeZh: "与示例客户的晚餐", amount: 1280},
	{number: "E-1004", spent: "2026-09-24", person: "Sample person 3", purpose: "Printing of sample brochures", purposeZh: "示例宣传册印刷", amount: 2150},
}

// The states of an expense.
const (
	claimed  = "claimed"
	approved = "approved"
	deleted  = "deleted"
)

// haveExpenses gives the owner the samples, unless they have them already.
func (d *Demo) haveExpenses(ctx context.Context, owner string) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("make sample expenses: %w", err)
	}
	defer tx.Rollback()
	for _, e := range sampleExpenses {
		if _, err := tx.ExecContext(ctx, `INSERT INTO expenses (owner, number, spent, person, purpose, purpose_zh, amount, status)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, owner, e.number, e.spent, e.person, e.purpose, e.purposeZh, e.amount, claimed); err != nil {
			return fmt.Errorf("make sample expenses: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("make sample expenses: %w", err)
	}
	return nil
}

const expenseColumns = "number, strftime('%Y-%m-%d', spent), person, purpose, purpose_zh, amount, status, reason"

func (e *expense) scan(row interface{ Scan(...any) error }) error {
	return row.Scan(&e.number, &e.spent, &e.person, &e.purpose, &e.purposeZh, &e.amount, &e.status, &e.reason)
}

// expenses reads the caller's expenses that are not deleted.
func (d *Demo) expenses(ctx context.Context) ([]expense, error) {
	who := owner(tool.CallerFrom(ctx))
	if err := d.haveExpenses(ctx, who); err != nil {
		return nil, err
	}
	rows, err := d.db.QueryContext(ctx, "SELECT "+expenseColumns+" FROM expenses WHERE owner = ? AND status <> ? ORDER BY number", who, deleted)
	if err != nil {
		return nil, fmt.Errorf("read expenses: %w", err)
	}
	defer rows.Close()
	var list []expense
	for rows.Next() {
		var e expense
		if err := e.scan(rows); err != nil {
			return nil, fmt.Errorf("read expense: %w", err)
		}
		list = append(list, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read expenses: %w", err)
	}
	return list, nil
}

// claim finds an expense that waits to be approved.
func (d *Demo) claim(ctx context.Context, number string) (expense, error) {
	w := words(ctx)
	list, err := d.expenses(ctx)
	if err != nil {
		return expense{}, err
	}
	for _, e := range list {
		if e.number == number && e.status == claimed {
			return e, nil
		}
		if e.number == number {
			return e, &tool.Error{Code: "ALREADY_DECIDED", Message: fmt.Sprintf(w("Expense %s is approved already.", "报销单 %s 已经批准过了。"), number)}
		}
	}
	return expense{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: fmt.Sprintf(w("There is no sample expense %s.", "没有示例报销单 %s。"), number)}
}

func (d *Demo) listExpenses() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "list_expenses",
		Description: "List the sample expenses that were claimed, and which of them still waits for approval. The user can delete all of them, and put them back, with buttons of the table.",
		Title:       map[string]string{"": "Read the expenses", "zh": "读取报销单"},
		Block:       sampleBlock("table", 240),
		Refreshable: true,
	}, func(ctx context.Context, _ struct{}, out *tool.Out) error { return d.showExpenses(ctx, out) })
}

// showExpenses writes the table, as a tool's block or to refill it.
func (d *Demo) showExpenses(ctx context.Context, out *tool.Out) error {
	w := words(ctx)
	list, err := d.expenses(ctx)
	if err != nil {
		return err
	}
	t := block.Table{
		Columns: []block.TableColumn{
			{Field: "number", Label: w("Number", "单号"), Width: 90},
			{Field: "spent", Label: w("Spent", "日期"), Type: "time", Format: block.FormatDate},
			{Field: "person", Label: w("Person", "申请人")},
			{Field: "purpose", Label: w("Purpose", "事由")},
			{Field: "amount", Label: w("Amount", "金额"), Type: "number", Format: block.FormatCurrency, Currency: "CNY"},
			{Field: "status", Label: w("Status", "状态")},
		},
		Caption: w("Expenses (sample data)", "报销单（示例数据）"),
	}
	var next *expense
	for i, e := range list {
		status := w("claimed", "待审批")
		if e.status == approved {
			status = w("approved", "已批准")
		} else if next == nil || e.amount > next.amount {
			next = &list[i]
		}
		t.Rows = append(t.Rows, block.Row{
			"number": e.number, "spent": e.spent, "person": e.person, "purpose": w(e.purpose, e.purposeZh), "amount": e.amount, "status": status,
		})
	}
	out.Actions(
		block.Action{ID: "delete", Action: "delete_expenses", Kind: block.ActionAPI},
		block.Action{ID: "restore", Action: "restore_expenses", Kind: block.ActionAPI},
	)
	if err := out.Table(t); err != nil {
		return err
	}
	if next != nil {
		out.Remark("next to approve: %s\nclaimed amount: %v\nclaimed by: %s", next.number, next.amount, next.person)
	}
	return nil
}

type approveArgs struct {
	Number string  `json:"number"`
	Amount float64 `json:"amount"`
	Reason string  `json:"reason"`
}

// approveParameters are a form, too: the person who is asked may change them.
const approveParameters = `{"type": "object", "additionalProperties": false, "required": ["number", "amount", "reason"], "properties": {
	"number": {"type": "string", "title": "Number 单号", "pattern": "^E-[0-9]{4}$", "description": "The number of the expense 报销单号"},
	"amount": {"type": "number", "title": "Amount 金额 (CNY)", "exclusiveMinimum": 0, "maximum": 100000, "description": "What is paid, at most what was claimed 实付金额，不超过申请金额"},
	"reason": {"type": "string", "title": "Reason 理由", "minLength": 2, "maxLength": 200, "description": "Why it is approved 批准理由"}}}`

func (d *Demo) approveExpense() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:         "approve_expense",
		Description:  "Approve a sample expense so that it is paid. The user is asked first, with the exact arguments, and may change them.",
		Title:        map[string]string{"": "Approve the expense", "zh": "批准报销"},
		Parameters:   json.RawMessage(approveParameters),
		Block:        sampleBlock("card", 180),
		Unrepeatable: true,
		Ask:          d.askExpense,
	}, d.runApproveExpense)
}

func (d *Demo) askExpense(ctx context.Context, raw json.RawMessage) (*tool.Ask, error) {
	w := words(ctx)
	var args approveArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, fmt.Errorf("decode arguments of approve_expense: %w", err)
	}
	e, err := d.claim(ctx, args.Number)
	if err != nil {
		return nil, err
	}
	ask := &tool.Ask{
		Prompt: fmt.Sprintf(w("Approve the sample expense %s over %.2f CNY?", "批准示例报销单 %s，金额 %.2f 元？"), e.number, args.Amount),
		Detail: fmt.Sprintf(w("%s, claimed by **%s** on %s: %.2f CNY. Nothing is paid: it is a sample.", "%s，由 **%s** 于 %s 申请，金额 %.2f 元。仅为示例，不会真的付款。"),
			w(e.purpose, e.purposeZh), e.person, e.spent, e.amount),
		Edit: true,
	}
	if args.Amount >= 1000 {
		ask.Severity = "warning"
	}
	return ask, nil
}

func (d *Demo) runApproveExpense(ctx context.Context, args approveArgs, out *tool.Out) error {
	w := words(ctx)
	e, err := d.claim(ctx, args.Number)
	if err != nil {
		return err
	}
	if args.Amount > e.amount {
		return &tool.Error{Code: "AMOUNT_TOO_HIGH", Message: fmt.Sprintf(w("%.2f CNY are more than the %.2f CNY that were claimed.", "%.2f 元超过了申请的 %.2f 元。"), args.Amount, e.amount)}
	}
	// Whoever comes second changes nothing.
	res, err := d.db.ExecContext(ctx, "UPDATE expenses SET status = ?, amount = ?, reason = ? WHERE owner = ? AND number = ? AND status = ?",
		approved, args.Amount, args.Reason, owner(tool.CallerFrom(ctx)), args.Number, claimed)
	if err != nil {
		return fmt.Errorf("approve expense: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return &tool.Error{Code: "ALREADY_DECIDED", Message: fmt.Sprintf(w("Expense %s is approved already.", "报销单 %s 已经批准过了。"), args.Number), Err: err}
	}
	err = out.Card(block.Card{
		Title:    fmt.Sprintf(w("Expense %s (sample data)", "报销单 %s（示例数据）"), e.number),
		Subtitle: w(e.purpose, e.purposeZh),
		Status:   &block.CardStatus{Label: w("approved", "已批准"), Tone: "success"},
		Fields: []block.CardField{
			{Label: w("Person", "申请人"), Value: e.person},
			{Label: w("Claimed", "申请金额"), Value: e.amount, Format: block.FormatCurrency, Currency: "CNY"},
			{Label: w("Approved", "批准金额"), Value: args.Amount, Format: block.FormatCurrency, Currency: "CNY"},
			{Label: w("Reason", "理由"), Value: args.Reason},
		},
	})
	if err != nil {
		return err
	}
	out.Remark("approved expense: %s\napproved amount: %.2f", e.number, args.Amount)
	return nil
}

func (d *Demo) deleteExpenses() action.Def {
	return action.Def{
		Name:    "delete_expenses",
		Label:   bilingual("Delete the sample expenses", "删除示例报销单"),
		Effect:  action.Write,
		Style:   "danger",
		Blocks:  []string{"table"},
		Confirm: action.Confirm{Level: action.LevelToken, Text: bilingual("Delete all sample expenses, the approved ones among them?", "删除全部示例报销单，包括已批准的？")},
		// A call that runs twice finds what it did the first time.
		Idempotent: true,
		PerMinute:  20,
		Feedback:   action.Feedback{Failure: bilingual("The sample expenses were not deleted.", "示例报销单没有删除。")},
		Run: func(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
			n, err := d.removeExpenses(ctx, c)
			if err != nil {
				return action.Result{}, err
			}
			return expensesRemoved(ctx, n), d.refill(ctx, out)
		},
		Lookup: func(ctx context.Context, c action.Call) (bool, action.Result, error) {
			n, err := d.removed(ctx, d.db, c.ID)
			if errors.Is(err, sql.ErrNoRows) {
				return false, action.Result{}, nil
			}
			return err == nil, expensesRemoved(ctx, n), err
		},
	}
}

func expensesRemoved(ctx context.Context, n int64) action.Result {
	return action.Result{Value: map[string]any{"deleted": n}, Text: fmt.Sprintf(words(ctx)("%d sample expenses were deleted.", "已删除 %d 张示例报销单。"), n)}
}

func (d *Demo) removed(ctx context.Context, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, call string) (n int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT removed FROM expense_calls WHERE call = ?", call).Scan(&n)
	return n, err
}

// removeExpenses deletes the owner's expenses once for each call and says how
// many there were.
func (d *Demo) removeExpenses(ctx context.Context, c action.Call) (int64, error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("delete expenses: %w", err)
	}
	defer tx.Rollback()
	if n, err := d.removed(ctx, tx, c.ID); !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	res, err := tx.ExecContext(ctx, "UPDATE expenses SET status = ? WHERE owner = ? AND status <> ?", deleted, owner(c.Caller), deleted)
	if err != nil {
		return 0, fmt.Errorf("delete expenses: %w", err)
	}
	n, err := res.RowsAffected()
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO expense_calls (call, removed, at) VALUES (?, ?, ?)", c.ID, n, time.Now().UnixMilli())
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM expense_calls WHERE at < ?", time.Now().Add(-7*24*time.Hour).UnixMilli())
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return 0, fmt.Errorf("delete expenses: %w", err)
	}
	return n, nil
}

func (d *Demo) restoreExpenses() action.Def {
	return action.Def{
		Name:       "restore_expenses",
		Label:      bilingual("Put the samples back", "恢复示例"),
		Effect:     action.Write,
		Blocks:     []string{"table"},
		Confirm:    action.Confirm{Level: action.LevelNone}, // it makes samples of samples
		Idempotent: true,
		PerMinute:  20,
		Feedback: action.Feedback{
			Success: bilingual("The sample expenses are as they were.", "示例报销单已恢复原样。"),
			Failure: bilingual("The sample expenses were not put back.", "示例报销单没有恢复。"),
		},
		Run: func(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
			if _, err := d.db.ExecContext(ctx, "DELETE FROM expenses WHERE owner = ?", owner(c.Caller)); err != nil {
				return action.Result{}, fmt.Errorf("put expenses back: %w", err)
			}
			return action.Result{}, d.refill(ctx, out)
		},
	}
}

// refill shows in the table that was acted on what is there now. That it cannot
// be shown does not undo what was done.
func (d *Demo) refill(ctx context.Context, out *tool.Out) error {
	if err := out.Update(); err != nil {
		return nil
	}
	return d.showExpenses(ctx, out)
}
