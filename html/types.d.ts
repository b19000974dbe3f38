// Shapes that several modules share: what a page hands to its parts. Those of the manager's and the relay's answers are
// in types.d.ts beside their pages, which are generated. For the type check alone (tests/typescript.sh); it is not
// embedded.

type Spoken = 'info' | 'good' | 'warn' | 'bad';
type Announce = (text: string, kind?: Spoken) => void;
type Notify = (text: string, kind?: Spoken, link?: { text: string; href?: string; run?: () => void }) => void;

/** The database's own part of a statement's error. */
interface DbError {
  errno: number;
  sqlstate: string;
}

// The web client's API

/** Answer of `/api/info`. */
interface ServerInfo {
  version: string;
  host: string;
  port: number | null;
  user: string;
  database: string | null;
  readonly: boolean;
  shared?: boolean;
  mode: string;
  can_write?: boolean;
  read_only?: boolean | null;
  super_read_only?: boolean | null;
  innodb_read_only?: boolean | null;
  instance?: string;
  time_zone?: string;
  tool?: string;
}

/** The person's choices in the SQL client. */
interface Settings {
  limit: number;
  stopOnError: boolean;
  confirmDanger: boolean;
  autoComplete: boolean;
  wrap: boolean;
  sidebarWidth: number;
  editorShare: number;
  /** True if the rows of tables have all of the height. */
  bare: boolean;
}

// Browser features beyond the standard library's types

interface Navigator {
  userAgentData?: { platform: string };
}

interface Window {
  showSaveFilePicker?: (options: object) => Promise<FileSystemFileHandle>;
}

/** State outside an entry of the list that changes its look. */
interface Surroundings {
  /** The program does not answer, so that all is the last that was known. */
  isDead: boolean;
  /** It is shared on this computer only. */
  isHere: boolean;
  /** The error that the banner above the list shows. */
  trouble: import('./manage/core/relays.js').RelayTrouble | null;
}

/** Actions of the page for the servers' dialog. */
interface ServerActions {
  api: ReturnType<typeof import('./manage/api.js').createApi>;
  trust(key: HostKey): unknown;
  resetServer(server: string): unknown;
}
