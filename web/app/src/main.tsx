import "./page.css";
import "@inlay-ui/react/styles.css";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";

const Gallery = lazy(() => import("./gallery/index.tsx"));

const root = document.getElementById("root");
if (root) {
  // The same files are the chat and the gallery; the document says which.
  const gallery = document.documentElement.dataset.page === "gallery";
  createRoot(root).render(
    <StrictMode>
      {gallery ? (
        <Suspense>
          <Gallery />
        </Suspense>
      ) : (
        <App />
      )}
    </StrictMode>,
  );
}
