import "./gallery.css";
import { vectors } from "./cases.ts";
import { Gallery } from "./Gallery.tsx";

const files = vectors();

/** The gallery with the vectors of this repository; a chunk of its own. */
export default function GalleryPage() {
  return <Gallery files={files} />;
}
