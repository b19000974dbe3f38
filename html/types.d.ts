// Shapes that several modules share: what a page hands to its parts. Those of the manager's and the relay's answers are
// in types.d.ts beside their pages, which are generated. For the type check alone (tests/typescript.sh); it is not
// embedded.

type Spoken = 'info' | 'good' | 'warn' | 'bad';
type Announce = (text: string, kind?: Spoken) => void;
type Notify = (text: string, kind?: Spoken, link?: { text: string; href?: string; run?: () => void }) => void;

/** What a statement's error carries of the database's own. */
interface DbError {
  errno: number;
  sqlstate: string;
}

// The web client's API

/** What `/api/info` answers. */
interface ServerInfo {
  version: string;
  host: string;
  port: number | null;
  user: string;
  database: string | null;
  readonly: boolean;
  mode: string;
  can_write?: boolean;
  read_only?: boolean | null;
  super_read_only?: boolean | null;
  innodb_read_only?: boolean | null;
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
}

// What browsers have beyond the standard library's types

interface Navigator {
  userAgentData?: { platform: string };
}

interface Window {
  showSaveFilePicker?: (options: object) => Promise<FileSystemFileHandle>;
}

/** What an entry of the list is shown in. */
interface Surroundings {
  /** The program does not answer, so that all is the last that was known. */
  isDead: boolean;
  /** It is shared on this computer only. */
  isHere: boolean;
  /** What is told above the list. */
  trouble: import('./manage/core/relays.js').RelayTrouble | null;
}

/** What the servers' dialog has done for it. */
interface ServerActions {
  api: ReturnType<typeof import('./manage/api.js').createApi>;
  trust(key: HostKey): unknown;
  resetServer(server: string): unknown;
}
