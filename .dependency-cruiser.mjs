/**
 * Who may import whom. `npm run lint` enforces it; src/README.md explains it.
 *
 * Each list is an order from the top down: a room may import itself and the rooms below it in the list, never those above.
 */

/** The rooms inside a folder, upper ones first. Files that lie loose in the folder count as above its rooms. */
const rooms = {
  'src/config': ['sources', 'schema'],
  'src/documents': ['fetch', 'storage'],
  'src/ops': [
    'cli',
    'http',
    'mcp',
    'operations',
    'verify',
    'doctor',
    'record',
    'actions',
    'protect',
    'backup',
    'retention',
    'telemetry',
    'metrics',
    'status',
    'alarms',
    'health',
    'clocks',
    'output',
  ],
  'src/push': ['verify', 'send', 'queue', 'kinds', 'ams360', 'http', 'file', 'sqs', 'contract', 'transport'],
  'src/reconcile': ['run', 'check', 'report'],
  'src/sandbox': ['http', 'service', 'world'],
  'src/store': [
    'query',
    'completeness',
    'as-of',
    'mirror',
    'backup',
    'upkeep',
    'operators',
    'changes',
    'reconcile',
    'open',
    'outbox',
    'sqlite',
    'inbox',
    'migrate',
    'reads',
    'postgres',
    'engine',
    'schema',
  ],
  'src/upstream': ['api-changes', 'webhook', 'wire', 'http', 'network'],
}

const ground = ['src/config', 'src/base']
const model = ['src/model', 'src/base']
const belowStages = ['src/read', 'src/apply', 'src/store', 'src/upstream', ...model, ...ground]
const stages = ['src/receive', 'src/work', 'src/poll', 'src/reconcile', 'src/push', 'src/documents']

/** What each folder may import, in addition to itself. Stages never import each other: they meet in the store. */
const mayImport = {
  'src/base': [],
  'src/config': model,
  'src/model': ['src/base'],
  'src/store': [...model, ...ground, 'migrations'],
  // The typed client that others import: it knows neither the store nor the program.
  'src/client': model,
  'src/upstream': ['src/client', ...model, ...ground],
  'src/apply': ['src/store', ...model, ...ground],
  'src/read': ['src/apply', 'src/store', 'src/upstream', ...model, ...ground],
  'src/receive': belowStages,
  'src/work': belowStages,
  'src/poll': belowStages,
  'src/reconcile': belowStages,
  // push reads the store and sends; nothing that it learns goes into the mirror.
  'src/documents': belowStages,
  'src/push': ['src/store', 'src/upstream', ...model, ...ground],
  'src/ops': [...stages, 'src/client', ...belowStages],
  // The sandbox never sees the product. The description of the interface it serves as it is.
  'src/sandbox': [
    ...['src/base', 'src/model/time.ts', 'src/model/json.ts', 'src/model/uuid.ts'],
    ...['src/client/schemas', 'src/client/openapi'],
  ],
  // The page is a client of the routes, like any other: of the program it shares the words that people read.
  'src/console': ['src/ops/output/words.ts'],
  // It runs the program and the sandbox as processes of their own.
  'src/demo': ['src/ops/output', 'src/reconcile', ...belowStages],
  'src/app': ['src/demo', 'src/ops', 'src/sandbox', ...stages, ...belowStages],
  migrations: ['src/store/schema/migration.ts', 'src/store/schema/list-keys.ts', 'src/store/schema/push-states.ts'],
}

/** Packages that only some folders may import. */
const packages = {
  kysely: ['src/store', 'migrations'],
  pg: ['src/store'],
  'better-sqlite3': ['src/store'],
  fastify: ['src/receive', 'src/ops', 'src/sandbox'],
  svix: ['src/upstream', 'src/push', 'src/sandbox', 'src/receive'],
  undici: ['src/upstream', 'src/push', 'src/sandbox'],
  '@aws-sdk': ['src/documents', 'src/push'],
  'p-queue': ['src/receive', 'src/work', 'src/poll', 'src/reconcile', 'src/push', 'src/documents', 'src/sandbox'],
  'node-cron': ['src/reconcile', 'src/config'],
  jsonata: ['src/push'],
  'csv-stringify': ['src/base'],
  'ssh2-sftp-client': ['src/push'],
  'prom-client': ['src/ops'],
  commander: ['src/ops'],
  '@fastify': ['src/ops'],
  'fastify-type-provider-zod': ['src/ops'],
  '@modelcontextprotocol': ['src/ops'],
  'openid-client': ['src/ops'],
  nodemailer: ['src/ops'],
  '@opentelemetry': ['src/ops/telemetry'],
  pino: ['src/base'],
  'pino-pretty': ['src/base'],
  yaml: ['src/config'],
  yauzl: ['src/ops'],
  yazl: ['src/ops'],
}

/** What the console is built of. Nothing else may use it: only the built page is shipped. */
const ofConsole = ['react', 'react-dom', 'radix-ui', '@tanstack', 'openapi-fetch', 'uplot', 'lucide-react', 'cmdk', 'vite', '@vitejs']
for (const name of ofConsole) packages[name] = ['src/console']

const literal = (text) => text.replaceAll('.', '\\.')
const under = (place) => `^${literal(place)}${place.endsWith('.ts') ? '$' : '(/|\\.ts$)'}`

const forbidden = [{ name: 'no-circle', comment: 'Files form no circle, not even of types.', from: {}, to: { circular: true } }]

for (const [folder, allowed] of Object.entries(mayImport)) {
  const may = [folder, ...allowed]
  forbidden.push({
    name: `${folder}-imports`,
    comment: allowed.length > 0 ? `${folder} may import ${[...new Set(allowed)].join(', ')}.` : `${folder} imports nothing above itself.`,
    from: { path: under(folder) },
    to: { path: '^(src|migrations)/', pathNot: may.map(under) },
  })
}

for (const [folder, order] of Object.entries(rooms)) {
  order.forEach((room, index) => {
    forbidden.push({
      name: `${folder}/${room}-imports`,
      comment: `Inside ${folder} the order is ${order.join(', ')}: a room imports only the rooms after it.`,
      from: { path: under(`${folder}/${room}`) },
      to: { path: under(folder), pathNot: order.slice(index).map((each) => under(`${folder}/${each}`)) },
    })
  })
}

for (const [name, allowed] of Object.entries(packages)) {
  forbidden.push({
    name: `${name}-is-for`,
    comment: `Only ${allowed.join(', ')} may import ${name}.`,
    from: { path: '^(src|migrations)/', pathNot: allowed.map(under) },
    to: { path: `(^|node_modules/)${literal(name)}(/|$)` },
  })
}

forbidden.push({
  name: 'console-is-separate',
  comment: 'The program does not know the page: it serves what was built of it.',
  from: { path: '^(src|migrations)/', pathNot: under('src/console') },
  to: { path: under('src/console') },
})

forbidden.push({
  name: 'model-is-pure',
  comment: 'model/ does no I/O.',
  from: { path: under('src/model') },
  to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
})

forbidden.push({
  name: 'only-apply-writes-the-mirror',
  comment: 'Rows of the mirror and of the change log are written by apply/ alone.',
  from: { path: '^src/', pathNot: under('src/apply') },
  to: { path: '^src/store/mirror/writer\\.ts$' },
})

export default {
  forbidden: forbidden.map((rule) => ({ severity: 'error', ...rule })),
  options: { parser: 'swc', doNotFollow: { path: 'node_modules' } },
}
