import type { Action, Block, TreeNode, TreePayload } from "@inlay-ui/client";
import { createContext, type ReactNode, useContext, useId, useMemo, useState } from "react";
import { useInlay, useT } from "../context.ts";
import { safeHref } from "../markdown/links.ts";
import { Markdown } from "../markdown/Markdown.tsx";
import type { BlockProps } from "../registry.ts";
import { ItemActions } from "./ItemActions.tsx";
import { Picture, type PicturePlace, pictureOf } from "./Picture.tsx";
import { actionOf, mostDepth, mostNodes, mostText } from "./places.ts";

// What may be chosen of each look. A payload names a token and never a style;
// every other word means the first of its list.
const looks = {
  text: ["body", "title", "subtitle", "caption", "label", "price", "code", "quote"],
  color: ["text", "muted", "primary", "success", "warning", "danger"],
  spacing: ["medium", "none", "small", "large"],
  align: ["stretch", "start", "center", "end"],
  justify: ["start", "center", "end", "between"],
  aspectRatio: ["auto", "1:1", "4:3", "3:2", "16:9", "3:4", "2:3", "9:16"],
  size: ["medium", "small", "large"],
} as const;

type Props = Record<string, unknown>;

/** The token that a value names, with or without its family before it. */
export function token<F extends keyof typeof looks>(
  family: F,
  value: unknown,
): (typeof looks)[F][number] {
  const list: readonly string[] = looks[family];
  const name = typeof value === "string" ? value.replace(`${family}.`, "") : "";
  return (list.includes(name) ? name : list[0]) as (typeof looks)[F][number];
}

/** What a node says about itself: its props, and scalars beside its type. */
export function propsOf(node: TreeNode): Props {
  const beside: Props = {};
  for (const [name, value] of Object.entries(node)) {
    if (name !== "type" && name !== "id" && (typeof value !== "object" || value === null)) {
      if (name !== "action") beside[name] = value;
    }
  }
  return typeof node.props === "object" && node.props !== null
    ? { ...beside, ...node.props }
    : beside;
}

function words(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}

/** The text of a node, by whichever of the usual names. */
function textOf(props: Props): string {
  return words(props.value ?? props.text ?? props.label ?? props.title ?? props.content);
}

interface Tree {
  block: Block;
  messageId: string;
  values: Record<string, unknown>;
  set(name: string, value: unknown): void;
}

const TreeContext = createContext<Tree | null>(null);

/** Draws a `tree` block: components by their names, in this page's own look. */
export default function TreeBlock({ block, payload, messageId }: BlockProps<TreePayload>) {
  const t = useT();
  const [values, setValues] = useState<Record<string, unknown>>({});
  const root = useMemo(() => withinLimits(payload.root), [payload.root]);
  const tree = useMemo<Tree>(
    () => ({
      block,
      messageId,
      values,
      set: (name, value) => setValues((old) => ({ ...old, [name]: value })),
    }),
    [block, messageId, values],
  );
  return (
    <TreeContext.Provider value={tree}>
      <div className="inlay-tree">
        {isBlank(root) ? (
          <p className="inlay-empty">{t("chat.block.cards.empty")}</p>
        ) : (
          <Node node={root} depth={0} />
        )}
      </div>
    </TreeContext.Provider>
  );
}

/** A tree cut to what is drawn of it: so deep, so many parts, texts so long. */
export function withinLimits(root: TreeNode): TreeNode {
  let nodes = 0;
  const short = (value: unknown) => (typeof value === "string" ? value.slice(0, mostText) : value);
  const cut = (node: TreeNode, depth: number): TreeNode => {
    const children: (TreeNode | string)[] = [];
    for (const child of Array.isArray(node.children) ? node.children : []) {
      if (depth >= mostDepth || nodes >= mostNodes) break;
      nodes++;
      if (typeof child === "string") children.push(child.slice(0, mostText));
      else if (typeof child === "object" && child !== null) children.push(cut(child, depth + 1));
    }
    const own = Object.entries(node).map(([name, value]) => [name, short(value)]);
    const props = Object.entries(node.props ?? {}).map(([name, value]) => [name, short(value)]);
    return { ...Object.fromEntries(own), props: Object.fromEntries(props), children };
  };
  nodes++;
  return cut(root, 1);
}

/** Whether a tree is a container with nothing in it. */
function isBlank(root: TreeNode): boolean {
  if (!["card", "column", "row", "grid", "list"].includes(root.type)) return false;
  return !root.children?.length && Object.values(propsOf(root)).every((value) => !words(value));
}

function Children({ node, depth }: { node: TreeNode; depth: number }): ReactNode {
  return node.children?.map((child, i) =>
    typeof child === "string" ? (
      <Text key={i} look="body">
        {child}
      </Text>
    ) : (
      <Node key={i} node={child} depth={depth + 1} />
    ),
  );
}

/** The look that every container shares, as attributes that the style sheet knows. */
function box(props: Props) {
  return {
    "data-gap": token("spacing", props.gap ?? props.spacing),
    "data-align": token("align", props.align),
    "data-justify": token("justify", props.justify),
  };
}

function Node({ node, depth }: { node: TreeNode; depth: number }): ReactNode {
  const { allow } = useInlay();
  const props = propsOf(node);
  const inside = <Children node={node} depth={depth} />;
  switch (node.type) {
    case "card":
      return (
        <div className="inlay-tree-card" data-depth={depth === 0 ? "top" : "inner"} {...box(props)}>
          {words(props.title) ? <Text look="title">{words(props.title)}</Text> : null}
          {inside}
          <NodeAction node={node} label={words(props.label)} />
        </div>
      );
    case "row":
    case "column":
    case "grid":
      return (
        <div className={`inlay-tree-${node.type}`} {...box(props)}>
          {inside}
        </div>
      );
    case "list":
      return (
        <List node={node} ordered={props.ordered === true} gap={token("spacing", props.gap)}>
          {(child, i) => (
            <li key={i}>
              {typeof child === "string" ? child : <Node node={child} depth={depth + 1} />}
            </li>
          )}
        </List>
      );
    case "text":
    case "heading": {
      const style = token("text", props.style ?? (node.type === "heading" ? "title" : undefined));
      const color = token("color", props.color);
      return (
        <Text look={style} color={color}>
          {textOf(props)}
          {inside}
        </Text>
      );
    }
    case "markdown":
      return <Markdown text={textOf(props)} streaming={false} allow={allow} />;
    case "image":
      return <Image props={props} />;
    case "button":
      return <NodeAction node={node} label={textOf(props)} props={props} />;
    case "link":
      return <Link props={props} />;
    case "input":
    case "textarea":
    case "select":
    case "checkbox":
    case "switch":
      return <Field type={node.type} props={props} />;
    case "divider":
      return <hr className="inlay-tree-divider" />;
    case "spacer":
      return <div className="inlay-tree-spacer" data-gap={token("spacing", props.size)} />;
    case "badge":
    case "tag":
      return (
        <span className="inlay-status" data-tone={tone(props.tone ?? props.color)}>
          {textOf(props)}
        </span>
      );
    case "progress":
      return <Progress props={props} />;
    default:
      // A component that this page does not know: what it says, in a plain box.
      return (
        <div className="inlay-tree-card" data-depth="inner" data-unknown={words(node.type)}>
          {textOf(props) ? <Text look="body">{textOf(props)}</Text> : null}
          {inside}
          <NodeAction node={node} label="" />
        </div>
      );
  }
}

function Text({ look, color, children }: { look: string; color?: string; children: ReactNode }) {
  return (
    <div
      className="inlay-tree-text"
      data-text={look}
      data-color={color}
      dir="auto"
      {...(look === "title" ? { role: "heading", "aria-level": 4 } : {})}
    >
      {children}
    </div>
  );
}

function tone(value: unknown): string {
  const name = words(value).replace(/^color\./, "");
  return ["success", "warning", "danger", "info"].includes(name) ? name : "neutral";
}

function List({
  node,
  ordered,
  gap,
  children,
}: {
  node: TreeNode;
  ordered: boolean;
  gap: string;
  children: (child: TreeNode | string, at: number) => ReactNode;
}) {
  const Tag = ordered ? "ol" : "ul";
  return (
    <Tag className="inlay-tree-list" data-gap={gap} data-ordered={ordered || undefined}>
      {node.children?.map(children)}
    </Tag>
  );
}

function Image({ props }: { props: Props }) {
  const { allow } = useInlay();
  const t = useT();
  const alt = words(props.alt) || t("chat.block.image.unnamed");
  const ratio = token("aspectRatio", props.aspectRatio);
  const size = token("size", props.size);
  const src = words(props.src ?? props.url);
  const asset = words(props.assetId);
  const place: PicturePlace = asset ? { kind: "asset", assetId: asset } : pictureOf(src, allow);
  const shown = place.kind === "asset" || place.kind === "load";
  return shown ? (
    <span className="inlay-tree-image" data-ratio={ratio} data-size={size}>
      <Picture place={place} alt={alt} />
    </span>
  ) : (
    <span className="inlay-muted">
      <Picture place={place} alt={alt} />
    </span>
  );
}

function Link({ props }: { props: Props }) {
  const href = safeHref(words(props.href ?? props.url));
  const text = textOf({ ...props, url: undefined }) || href;
  if (href === "") return <span>{text}</span>;
  return (
    <a className="inlay-tree-link" href={href} target="_blank" rel="noopener noreferrer">
      {text}
    </a>
  );
}

/** The parameters of an action: its own, and of the fields those that it takes. */
export function actionValues(
  action: Action,
  params: Record<string, unknown>,
  values: Record<string, unknown>,
): Record<string, unknown> {
  const schema = action.inputSchema;
  const takes =
    typeof schema === "object" && schema !== null && "properties" in schema
      ? Object.keys(schema.properties ?? {})
      : null;
  const filled = Object.entries(values).filter(
    ([name, value]) => value !== undefined && (takes === null || takes.includes(name)),
  );
  return { ...Object.fromEntries(filled), ...params };
}

/** The button of a node that acts. An action that the block does not have is shown and does nothing. */
function NodeAction({ node, label, props = {} }: { node: TreeNode; label: string; props?: Props }) {
  const tree = useContext(TreeContext);
  const named = actionOf(node);
  const action = named ? tree?.block.actions?.find((a) => a.id === named.id) : undefined;
  if (!tree || (!named && node.type !== "button")) return null;
  if (!action || !named) {
    return (
      <button type="button" className="inlay-button" disabled>
        {label || named?.id}
      </button>
    );
  }
  const variant = words(props.variant ?? props.style);
  const style = variant === "primary" || variant === "danger" ? variant : action.style;
  return (
    <ItemActions
      block={tree.block}
      messageId={tree.messageId}
      actions={[
        {
          action: { ...action, label: label || action.label, style },
          params: actionValues(action, named.params, tree.values),
        },
      ]}
    />
  );
}

function Field({ type, props }: { type: string; props: Props }) {
  const t = useT();
  const tree = useContext(TreeContext);
  const id = useId();
  const name = words(props.name) || words(props.id);
  const label = words(props.label ?? props.text ?? props.placeholder) || name;
  const placeholder = words(props.placeholder);
  const first = props.value ?? props.defaultValue;
  const value = name in (tree?.values ?? {}) ? tree?.values[name] : first;
  const set = (next: unknown) => {
    if (name) tree?.set(name, next);
  };
  const off = props.disabled === true;
  if (type === "checkbox" || type === "switch") {
    return (
      <label className="inlay-tree-check" htmlFor={id}>
        <input
          id={id}
          type="checkbox"
          role={type === "switch" ? "switch" : undefined}
          checked={value === true}
          disabled={off}
          onChange={(event) => set(event.target.checked)}
        />
        {label}
      </label>
    );
  }
  const common = { id, className: "inlay-input", disabled: off, value: words(value) };
  const kind = ["number", "date", "email", "tel", "url", "search", "time"].find(
    (one) => one === props.type || one === props.inputType,
  );
  return (
    <div className="inlay-tree-field">
      <label htmlFor={id}>{label}</label>
      {type === "select" || Array.isArray(props.options) ? (
        <select {...common} onChange={(event) => set(event.target.value)}>
          {value === undefined ? (
            <option value="">{placeholder || t("chat.block.tree.choose")}</option>
          ) : null}
          {choices(props.options).map((one) => (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          ))}
        </select>
      ) : type === "textarea" || props.multiline === true ? (
        <textarea
          {...common}
          rows={3}
          placeholder={placeholder}
          onChange={(event) => set(event.target.value)}
        />
      ) : (
        <input
          {...common}
          type={kind ?? "text"}
          placeholder={placeholder}
          onChange={({ target }) =>
            set(
              kind === "number"
                ? target.value === "" || Number.isNaN(target.valueAsNumber)
                  ? undefined
                  : target.valueAsNumber
                : target.value,
            )
          }
        />
      )}
    </div>
  );
}

/** The options of a choice: words, or values with their labels. */
function choices(options: unknown): { value: string; label: string }[] {
  if (!Array.isArray(options)) return [];
  return options.flatMap((one: unknown) => {
    if (typeof one !== "object" || one === null) return [{ value: words(one), label: words(one) }];
    const { value, id, label } = one as Record<string, unknown>;
    const key = words(value ?? id);
    return key === "" ? [] : [{ value: key, label: words(label) || key }];
  });
}

function Progress({ props }: { props: Props }) {
  const t = useT();
  const { value, max } = props;
  const top = typeof max === "number" && max > 0 ? max : 1;
  const label = words(props.label) || t("chat.block.loadingUntitled");
  return (
    <progress
      className="inlay-progress"
      max={top}
      {...(typeof value === "number" ? { value: Math.min(top, Math.max(0, value)) } : {})}
      aria-label={label}
    />
  );
}
