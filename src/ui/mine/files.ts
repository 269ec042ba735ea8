import type { DroppedFile } from '../services.ts';

/** Most files taken from one drop: a folder dropped by mistake should not keep the page busy. */
const MOST_FILES = 2000;

const asDropped = (path: string, file: File): DroppedFile => ({
  path,
  file,
  size: file.size,
  stream: () => file.stream(),
});

function entryFile(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** All entries of a folder: browsers hand them out a hundred at a time. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    found.push(...some);
  }
}

async function collect(entry: FileSystemEntry, into: DroppedFile[]): Promise<void> {
  if (into.length >= MOST_FILES) return;
  if (entry.isFile) {
    const file = await entryFile(entry as FileSystemFileEntry);
    into.push(asDropped(entry.fullPath.replace(/^\//, ''), file));
  } else if (entry.isDirectory) {
    for (const child of await entriesOf(entry as FileSystemDirectoryEntry)) await collect(child, into);
  }
}

/** The files of a drop, folders included, in the order of their paths. */
export async function droppedFiles(transfer: DataTransfer): Promise<DroppedFile[]> {
  // Entries must be taken before the first wait: the browser empties the list afterwards.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const plain = [...transfer.files];
  if (entries.length === 0) return plain.slice(0, MOST_FILES).map((file) => asDropped(file.name, file));
  const found: DroppedFile[] = [];
  for (const entry of entries) await collect(entry, found);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The files of a file input, with the folder's paths where a folder was chosen. */
export function chosenFiles(list: FileList): DroppedFile[] {
  return [...list].slice(0, MOST_FILES).map((file) => asDropped(file.webkitRelativePath || file.name, file));
}
