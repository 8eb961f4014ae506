import "../page.css";
import "./gallery.css";
import "@inlay-ui/react/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { vectors } from "./cases.ts";
import { Gallery } from "./Gallery.tsx";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Gallery files={vectors()} />
    </StrictMode>,
  );
}
