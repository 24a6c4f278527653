import type { Command } from 'commander'
import { type Group, type Subject, subjects } from '../operations/index.ts'
import type { CommandContext } from './commands/context.ts'

type Add = (program: Command, c: CommandContext) => void

interface Listed {
  readonly group: Group
  readonly examples: readonly string[]
  /** Imports the code of one command. Importing all commands would take longer than most commands run. */
  readonly load: () => Promise<Add>
}

export const commands: Readonly<Record<string, Listed>> = {
  serve: {
    group: 'Run',
    examples: ['serve', 'serve --role receive'],
    load: async () => (await import('./commands/serve.ts')).addServe,
  },
  reload: ofOperations({
    about: 'reload the settings',
    group: 'Run',
    examples: ['reload', 'reload --json'],
    load: async () => (await import('../operations/settings.ts')).operations,
  }),
  migrate: {
    group: 'Run',
    examples: ['migrate', 'migrate --grant-reader analysts --without-personal'],
    load: async () => (await import('./commands/migrate.ts')).addMigrate,
  },
  track: ofOperations({
    about: 'add submissions',
    group: 'Run',
    examples: ['track ID', 'track --file submissions.csv --account acme'],
    load: async () => (await import('../operations/track.ts')).operations,
  }),
  sync: {
    group: 'Run',
    examples: ['sync ID', 'sync --all'],
    load: async () => (await import('./commands/sync.ts')).addSync,
  },
  mcp: {
    group: 'Run',
    examples: ['mcp', 'mcp < requests.jsonl'],
    load: async () => (await import('./commands/mcp.ts')).addMcp,
  },
  status: subject('status'),
  submission: subject('submission', async () => (await import('./commands/submission-export.ts')).addSubmissionExport),
  quote: subject('quote'),
  item: subject('item'),
  search: subject('search'),
  changes: subject('changes'),
  row: subject('row'),
  query: {
    group: 'Look',
    examples: ['query "select * from submission_overview"', 'query "select * from changes" --csv > changes.csv', 'query - < report.sql'],
    load: async () => (await import('./commands/query.ts')).addQuery,
  },
  action: subject('action'),
  doctor: subject('doctor'),
  reconcile: { ...subject('reconcile'), load: async () => (await import('./commands/reconcile.ts')).addReconcile },
  inbox: subject('inbox'),
  outbox: subject('outbox'),
  destination: subject('destination'),
  account: subject('account'),
  alarm: subject('alarm'),
  document: subject('document', async () => (await import('./commands/document-get.ts')).addDocumentGet),
  backup: subject('backup'),
  restore: {
    group: 'Move',
    examples: ['restore backups/mirror.db', 'restore backups/mirror.db --json'],
    load: async () => (await import('./commands/restore.ts')).addRestore,
  },
  copy: {
    group: 'Move',
    examples: ['copy --to-file postgres-url.txt', 'copy --to sqlite:data/mirror.db --documents-to data/documents'],
    load: async () => (await import('./commands/copy.ts')).addCopy,
  },
  retention: subject('retention'),
  protect: {
    group: 'Move',
    examples: ['protect status', 'protect rotate', 'protect show insureds ID'],
    load: async () => (await import('./commands/protect.ts')).addProtect,
  },
  purge: subject('purge'),
  sandbox: {
    group: 'Develop',
    examples: ['sandbox', 'sandbox --target http://127.0.0.1:8080/webhooks --faults all', 'sandbox --clock step --story none'],
    load: async () => (await import('./commands/sandbox.ts')).addSandbox,
  },
  demo: {
    group: 'Develop',
    examples: ['demo', 'demo --hold --folder data/demo'],
    load: async () => (await import('./commands/demo.ts')).addDemo,
  },
}

/**
 * @returns the entry of a command, such as `outbox`, whose subcommands are operations.
 * @param loadOther imports subcommands that aren't operations.
 */
function subject(name: keyof typeof subjects, loadOther?: () => Promise<Add>): Listed {
  return ofOperations(subjects[name], loadOther)
}

function ofOperations({ about, group, examples = [], load }: Subject, loadOther?: () => Promise<Add>): Listed {
  return {
    group,
    examples,
    load: async () => {
      const [{ addOperations }, operations, addOther] = await Promise.all([import('./from-operation.ts'), load(), loadOther?.()])
      return (program, c) => {
        const added = addOperations(program, c, about, operations)
        addOther?.(added, c)
      }
    },
  }
}

/** Adds the named commands to a program, with their help groups and examples. */
export async function addCommands(program: Command, c: CommandContext, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { group, examples, load } = commands[name] as Listed
    ;(await load())(program, c)
    const added = program.commands.find((each) => each.name() === name)
    if (added !== undefined) addExamples(added.helpGroup(`${group}:`).helpCommand(false), name, examples)
  }
}

/** Adds examples to the help of a command and its subcommands. A subcommand shows only examples that begin with it. */
function addExamples(command: Command, path: string, examples: readonly string[]): void {
  const lines = examples.filter((example) => `${example} `.startsWith(`${path} `)).map((example) => `  submission-mirror ${example}`)
  if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  for (const below of command.commands) addExamples(below, `${path} ${below.name()}`, examples)
}
