package chat

import "fmt"

var words = map[string][2]string{
	"hello":       {"%s · %s", "%s · %s"},
	"demo":        {"scripted demo model, no AI behind it", "脚本演示模型，背后没有 AI"},
	"try":         {"Try: %s", "试试：%s"},
	"hint":        {"Type a question. :help says what else there is, Ctrl+C stops an answer.", "输入问题即可。:help 查看其他命令，Ctrl+C 停止回答。"},
	"help":        {"A line is a question.\n:1 :2 …   do what stands under the number\n:again    list the numbers again\n:new      begin a new conversation\n:quit     leave; so does the end of the input\nCtrl+C    stops the answer, and twice leaves", "输入一行即为提问。\n:1 :2 …   执行对应编号的操作\n:again    重新列出编号\n:new      开始新会话\n:quit     退出；输入结束也会退出\nCtrl+C    停止回答，连按两次退出"},
	"noChoice":    {"There is nothing under %s. :again lists what there is.", "没有编号 %s。:again 可查看全部编号。"},
	"noChoices":   {"There is nothing to choose.", "当前没有可执行的操作。"},
	"badCommand":  {"%s is no command. :help lists them.", "没有命令 %s。:help 可查看全部命令。"},
	"new":         {"A new conversation begins.", "开始新会话。"},
	"earlier":     {"%d earlier messages are not shown.", "较早的 %d 条消息未显示。"},
	"stopping":    {"Stopping. Ctrl+C again leaves.", "正在停止。再按一次 Ctrl+C 退出。"},
	"stopped":     {"Stopped.", "已停止。"},
	"cut":         {"The connection was lost; trying again …", "连接中断，正在重试……"},
	"back":        {"Connected again.", "已重新连接。"},
	"length":      {"The answer was cut: it was too long.", "回答过长，已截断。"},
	"steps":       {"The answer ended: too many steps.", "步骤过多，回答结束。"},
	"filter":      {"The answer was cut by the model's filter.", "回答被模型的过滤器中断。"},
	"paused":      {"The answer waits for you: choose a number.", "等待你的回答，请选择编号。"},
	"pausedOnce":  {"the answer waits for a person: inlay chat --conversation %s", "回答需要人工确认：inlay chat --conversation %s"},
	"sure":        {"%s [y/N]", "%s [y/N]"},
	"left":        {"Left as it is.", "未执行。"},
	"done":        {"Done.", "已完成。"},
	"unknown":     {"It is not known whether it happened.", "无法确定是否已执行。"},
	"rowAsk":      {"Which one? (number)", "选择哪一项？（编号）"},
	"badRow":      {"Choose one of the numbers.", "请输入列表中的编号。"},
	"own":         {"Your answer:", "你的回答："},
	"ownOr":       {"Numbers, or an answer in your own words:", "编号，或用自己的话回答："},
	"pickSome":    {"Numbers, separated by commas:", "编号，用逗号分隔："},
	"again":       {"The server does not take this; please change it:", "服务器未接受，请修改："},
	"tooOften":    {"It is not taken; nothing was done.", "仍未接受，未执行。"},
	"noFile":      {"This form needs a file, which only the page can send.", "该表单需要上传文件，只能在网页中完成。"},
	"address":     {"Open in a browser: %s", "请在浏览器中打开：%s"},
	"notAllowed":  {"That address is not among those that are allowed: %s", "该地址不在允许范围内：%s"},
	"page":        {"Only the page can open this: %s", "只能在网页中打开：%s"},
	"composer":    {"Enter sends %s; anything else is sent instead.", "回车发送 %s；输入其他内容则改为发送该内容。"},
	"failedTurn":  {"The answer failed: %s", "回答失败：%s"},
	"unauth":      {"The server wants a token: put it into a variable and name that with --token-env.", "服务器需要令牌：将其放入环境变量，并用 --token-env 指定变量名。"},
	"unreachable": {"The server does not answer at %s: start it with \"inlay serve\", or leave --url out to run one in this program.", "%s 没有响应：用 inlay serve 启动服务器，或不带 --url 在本程序内运行。"},
	"busy":        {"An answer is still being written here; wait for it or stop it.", "本会话仍有回答在进行，请等待或停止它。"},
	"you":         {"You", "你"},
}

func (s *Session) say(key string, args ...any) string {
	w := words[key][0]
	if s.opt.Lang == "zh" {
		w = words[key][1]
	}
	if len(args) == 0 {
		return w
	}
	return fmt.Sprintf(w, args...)
}
