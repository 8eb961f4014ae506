import {
  type ArrayFieldItemTemplateProps,
  type ArrayFieldTemplateProps,
  buttonId,
  type DescriptionFieldProps,
  descriptionId,
  errorId,
  type FieldErrorProps,
  type FieldHelpProps,
  type FieldTemplateProps,
  getUiOptions,
  helpId,
  type IconButtonProps,
  type MultiSchemaFieldTemplateProps,
  type ObjectFieldTemplateProps,
  type UnsupportedFieldProps,
} from "@rjsf/utils";
import { useT } from "../context.ts";
import { BaseInput, Required } from "./widgets.tsx";

/* How the parts of a form are put together. Nothing of a schema is read as HTML or style. */

/** Controls that are several fields, so a label cannot be of one of them. */
const groups = new Set(["RadioWidget", "CheckboxesWidget", "dateRange"]);

function Field(props: FieldTemplateProps) {
  const { id, schema, uiSchema, label, children, errors, help, hidden, required, registry } = props;
  if (hidden) return <div hidden>{children}</div>;
  const { widget } = getUiOptions(uiSchema, registry.globalUiOptions);
  const name = typeof widget === "string" ? widget : "";
  const toggle = schema.type === "boolean" && name !== "RadioWidget" && name !== "SelectWidget";
  const group =
    groups.has(name) || (schema.type === "array" && name !== "FileWidget" && name !== "asset");
  const shown = props.displayLabel && !toggle && label !== "";
  const mark = required && <Required />;
  return (
    <div className="inlay-field" data-field={id}>
      {shown &&
        (group ? (
          <span className="inlay-label" id={`${id}__label`}>
            {label}
            {mark}
          </span>
        ) : (
          <label className="inlay-label" htmlFor={id}>
            {label}
            {mark}
          </label>
        ))}
      {(shown || toggle) && props.rawDescription ? props.description : null}
      {children}
      {help}
      {errors}
    </div>
  );
}

function Description({ id, description }: DescriptionFieldProps) {
  if (!description) return null;
  return (
    <p className="inlay-field-note" id={id}>
      {description}
    </p>
  );
}

function Help({ help, fieldPathId }: FieldHelpProps) {
  if (!help) return null;
  return (
    <p className="inlay-field-note" id={helpId(fieldPathId)}>
      {help}
    </p>
  );
}

function Errors({ errors, fieldPathId }: FieldErrorProps) {
  if (!errors || errors.length === 0) return null;
  return (
    <p className="inlay-field-error" id={errorId(fieldPathId)}>
      {[...new Set(errors.map(String))].join(" ")}
    </p>
  );
}

function ObjectFields(props: ObjectFieldTemplateProps) {
  const { title, description, properties, fieldPathId, schema, uiSchema, registry } = props;
  const columns = Number(getUiOptions(uiSchema).columns) || 1;
  const root = fieldPathId.path.length === 0;
  const { ButtonTemplates } = registry.templates;
  const expandable = schema.additionalProperties && !props.readonly && !props.disabled;
  // The root's title is the block's; an entry's is that of its list and its number.
  const entry = typeof fieldPathId.path.at(-1) === "number";
  const head = root ? "" : entry ? title.replace(/-(\d+)$/, " $1") : title;
  return (
    <fieldset className="inlay-fieldset" data-root={root || undefined} id={fieldPathId.$id}>
      {head && (
        <legend className="inlay-legend">
          {head}
          {props.required && <Required />}
        </legend>
      )}
      {description && (
        <p className="inlay-field-note" id={descriptionId(fieldPathId)}>
          {description}
        </p>
      )}
      <div className="inlay-fields" data-columns={Math.min(columns, 4)}>
        {properties.map((one) => one.content)}
      </div>
      {props.optionalDataControl}
      {expandable && typeof schema.additionalProperties === "object" && (
        <ButtonTemplates.AddButton
          id={buttonId(fieldPathId, "add")}
          onClick={props.onAddProperty}
          uiSchema={uiSchema ?? {}}
          registry={registry}
        />
      )}
    </fieldset>
  );
}

function ArrayFields(props: ArrayFieldTemplateProps) {
  const { title, items, canAdd, fieldPathId, schema, uiSchema, registry } = props;
  const t = useT();
  const options = getUiOptions(uiSchema);
  const { ButtonTemplates } = registry.templates;
  const head = options.title ?? title;
  const note = options.description ?? schema.description;
  return (
    <fieldset className="inlay-fieldset" id={fieldPathId.$id}>
      {head && (
        <legend className="inlay-legend">
          {head}
          {props.required && <Required />}
        </legend>
      )}
      {note && (
        <p className="inlay-field-note" id={descriptionId(fieldPathId)}>
          {note}
        </p>
      )}
      {items.length > 0 ? (
        <ol className="inlay-items">{items}</ol>
      ) : (
        <p className="inlay-field-note">{t("chat.form.noItems")}</p>
      )}
      {canAdd && !props.disabled && !props.readonly && (
        <ButtonTemplates.AddButton
          id={buttonId(fieldPathId, "add")}
          onClick={props.onAddClick}
          uiSchema={uiSchema ?? {}}
          registry={registry}
        />
      )}
    </fieldset>
  );
}

function ArrayItem({ children, buttonsProps, hasToolbar, index }: ArrayFieldItemTemplateProps) {
  const t = useT();
  const { fieldPathId, disabled, readonly } = buttonsProps;
  const off = disabled || readonly;
  const n = index + 1;
  const moves = buttonsProps.hasMoveUp || buttonsProps.hasMoveDown;
  return (
    <li className="inlay-item">
      <div className="inlay-item-body">{children}</div>
      {hasToolbar && !off && (
        <div className="inlay-item-tools">
          {moves && (
            <>
              <button
                type="button"
                className="inlay-quiet"
                id={buttonId(fieldPathId, "moveUp")}
                aria-label={t("chat.form.moveUp", { n })}
                disabled={!buttonsProps.hasMoveUp}
                onClick={buttonsProps.onMoveUpItem}
              >
                <span aria-hidden="true">↑</span>
              </button>
              <button
                type="button"
                className="inlay-quiet"
                id={buttonId(fieldPathId, "moveDown")}
                aria-label={t("chat.form.moveDown", { n })}
                disabled={!buttonsProps.hasMoveDown}
                onClick={buttonsProps.onMoveDownItem}
              >
                <span aria-hidden="true">↓</span>
              </button>
            </>
          )}
          {buttonsProps.hasRemove && (
            <button
              type="button"
              className="inlay-quiet"
              id={buttonId(fieldPathId, "remove")}
              aria-label={t("chat.form.removeItem", { n })}
              onClick={buttonsProps.onRemoveItem}
            >
              <span aria-hidden="true">✕</span>
            </button>
          )}
        </div>
      )}
    </li>
  );
}

function MultiSchema({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  return (
    <div className="inlay-alternatives">
      {selector}
      {optionSchemaField}
    </div>
  );
}

function Unsupported({ fieldPathId }: UnsupportedFieldProps) {
  const t = useT();
  return (
    <p className="inlay-field-error" id={fieldPathId?.$id}>
      {t("chat.form.unsupported")}
    </p>
  );
}

function AddButton({ onClick, disabled, id }: IconButtonProps) {
  const t = useT();
  return (
    <button type="button" id={id} className="inlay-button" disabled={disabled} onClick={onClick}>
      {t("chat.form.add")}
    </button>
  );
}

function RemoveButton({ onClick, disabled, id }: IconButtonProps) {
  const t = useT();
  return (
    <button type="button" id={id} className="inlay-quiet" disabled={disabled} onClick={onClick}>
      {t("chat.form.remove")}
    </button>
  );
}

const Nothing = () => null;

/** The templates of our look. */
export const templates = {
  FieldTemplate: Field,
  DescriptionFieldTemplate: Description,
  FieldHelpTemplate: Help,
  FieldErrorTemplate: Errors,
  ObjectFieldTemplate: ObjectFields,
  ArrayFieldTemplate: ArrayFields,
  ArrayFieldItemTemplate: ArrayItem,
  BaseInputTemplate: BaseInput,
  MultiSchemaFieldTemplate: MultiSchema,
  UnsupportedFieldTemplate: Unsupported,
  ErrorListTemplate: Nothing,
  ButtonTemplates: { AddButton, RemoveButton, SubmitButton: Nothing },
};
