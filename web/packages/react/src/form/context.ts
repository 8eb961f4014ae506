import { createContext } from "react";

/** What a form's controls tell the form around them. */
export interface FormLink {
  /** Something is on its way that belongs to the form; call what it returns when it is over. */
  pending(): () => void;
}

/** The nearest form. */
export const FormContext = createContext<FormLink>({ pending: () => () => {} });
