import { createRoot } from "react-dom/client";
import { App } from "./App.tsx";

// CopilotKit's look is a class, ours follows the device by itself.
const dark = matchMedia("(prefers-color-scheme: dark)");
const look = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", look);
look();

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
