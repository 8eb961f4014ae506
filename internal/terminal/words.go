package terminal

import (
	"fmt"
	"sync"

	"github.com/inlay-ui/inlay/schema"
)

// words are the renderer's own, in English and Chinese.
var words = map[string][2]string{
	"loading":        {"loading …", "加载中 …"},
	"failed":         {"could not be shown.", "未能显示。"},
	"undrawn":        {"cannot be shown in a terminal.", "无法在终端中显示。"},
	"browser":        {"This chart can only be drawn in a browser.", "此图表只能在浏览器中绘制。"},
	"cut":            {"Shown in part.", "仅显示一部分。"},
	"yes":            {"yes", "是"},
	"no":             {"no", "否"},
	"empty":          {"Nothing here.", "暂无内容。"},
	"noRows":         {"No rows.", "没有数据行。"},
	"rowsOf":         {"%d of %d rows", "共 %[2]d 行，显示 %[1]d 行"},
	"columnsLeft":    {"left out: %s", "未显示的列：%s"},
	"more":           {"+ %d more", "另有 %d 项"},
	"linesLeft":      {"+ %d more lines", "另有 %d 行"},
	"itemsOf":        {"%d of %d", "共 %[2]d 项，显示 %[1]d 项"},
	"asOf":           {"Data as of %s", "数据截至 %s"},
	"sampled":        {"%d of %d data points", "共 %[2]d 个数据点，取样 %[1]d 个"},
	"source":         {"source", "数据源"},
	"file":           {"file", "文件"},
	"image":          {"image", "图片"},
	"unnamed":        {"no description", "无描述"},
	"pages":          {"%d pages", "%d 页"},
	"sheets":         {"sheets: %s", "工作表：%s"},
	"required":       {"required", "必填"},
	"until":          {"open until %s", "截止 %s"},
	"answerHow":      {"Free text is an answer too.", "也可以用自己的话回答。"},
	"several":        {"Several may be chosen.", "可多选。"},
	"first":          {"first", "首"},
	"last":           {"last", "末"},
	"lowest":         {"lowest", "最低"},
	"highest":        {"highest", "最高"},
	"opens":          {"opens %s", "打开 %s"},
	"types":          {"types %s", "输入 %s"},
	"dialog":         {"dialog %s, on the page only", "弹窗 %s，仅网页可用"},
	"retry":          {"Try again: %s", "重试：%s"},
	"refresh":        {"Refresh: %s", "刷新：%s"},
	"page":           {"Load more", "加载更多"},
	"approve":        {"Approve", "批准"},
	"reject":         {"Reject", "拒绝"},
	"edit":           {"Edit", "修改"},
	"answer":         {"Answer", "回答"},
	"fill":           {"Fill in: %s", "填写：%s"},
	"point":          {"%s: choose one", "%s：选择一项"},
	"ask.yesno":      {"y/n", "y/n"},
	"ask.keep":       {"Enter keeps %s", "回车保留 %s"},
	"ask.skip":       {"Enter skips", "回车跳过"},
	"ask.list":       {"separated by commas", "用逗号分隔"},
	"ask.pick":       {"number", "编号"},
	"ask.picks":      {"numbers, separated by commas", "编号，用逗号分隔"},
	"ask.range":      {"two dates: 2026-07-01 2026-09-30", "两个日期：2026-07-01 2026-09-30"},
	"ask.file":       {"Files cannot be sent from the terminal; this field is left empty.", "终端不支持上传文件，此项留空。"},
	"bad.number":     {"That is no number.", "这不是数字。"},
	"bad.whole":      {"That is no whole number.", "这不是整数。"},
	"bad.yesno":      {"Answer y or n.", "请输入 y 或 n。"},
	"bad.pick":       {"Choose one of the numbers.", "请输入列表中的编号。"},
	"bad.range":      {"Write two dates.", "请输入两个日期。"},
	"bad.need":       {"An answer is needed.", "此项必填。"},
	"bad.json":       {"That is not JSON.", "这不是 JSON。"},
	"state.done":     {"Done", "已完成"},
	"state.failed":   {"Not carried out", "未执行"},
	"state.unknown":  {"It is not known whether it happened", "无法确定是否已执行"},
	"state.expired":  {"Expired", "已过期"},
	"state.answered": {"Answered", "已回答"},

	"state.cancelled":  {"Cancelled", "已取消"},
	"state.submitting": {"Being carried out", "执行中"},
	"answer.approve":   {"Approved", "已批准"},
	"answer.reject":    {"Rejected", "已拒绝"},
	"answer.edit":      {"Approved with changes", "修改后批准"},
	"answer.answer":    {"Answered", "已回答"},

	"price":          {"Price", "价格"},
	"was":            {"before %s", "原价 %s"},
	"discount":       {"Discount", "优惠"},
	"rating":         {"Rating", "评分"},
	"stock":          {"%d in stock", "库存 %d 件"},
	"few":            {"Only %d left", "仅剩 %d 件"},
	"left":           {"%d left", "余 %d"},
	"soldOut":        {"Sold out", "已售罄"},
	"time":           {"Time", "时间"},
	"duration":       {"Duration", "历时"},
	"minutes":        {"%d min", "%d 分钟"},
	"hours":          {"%d h %d min", "%d 小时 %d 分钟"},
	"platform":       {"Platform", "站台"},
	"gate":           {"Gate", "登机口"},
	"airline":        {"Airline", "航空公司"},
	"stars":          {"Stars", "星级"},
	"address":        {"Address", "地址"},
	"checkIn":        {"Check-in", "入住"},
	"checkOut":       {"Check-out", "离店"},
	"amenities":      {"Amenities", "设施"},
	"trip.on_time":   {"On time", "正点"},
	"trip.delayed":   {"Delayed", "晚点"},
	"trip.boarding":  {"Boarding", "检票中"},
	"trip.departed":  {"Departed", "已出发"},
	"trip.arrived":   {"Arrived", "已到达"},
	"trip.cancelled": {"Cancelled", "已取消"},
}

// say words something in the reader's language.
func (r *Renderer) say(key string, args ...any) string {
	w := words[key][0]
	if r.opt.Lang == "zh" {
		w = words[key][1]
	}
	if len(args) == 0 {
		return w
	}
	return fmt.Sprintf(w, args...)
}

// word is say for a key that others made up; empty when there is no such word.
func (r *Renderer) word(key string) string {
	if _, ok := words[key]; !ok {
		return ""
	}
	return r.say(key)
}

var errorWords = sync.OnceValue(schema.Errors)

// Code words an error code, of a block or of a request; empty for one that is
// not known.
func (r *Renderer) Code(code string) string {
	if r.opt.Lang == "zh" {
		return errorWords()[code].Chinese
	}
	return errorWords()[code].English
}
