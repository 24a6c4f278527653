import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { entities } from '../../src/model/entities.ts'
import { asyncApi, tableSchema } from '../../src/push/contract/asyncapi.ts'

/**
 * Writes the formats of pushes: `asyncapi.json`, and a JSON Schema for each table.
 * node test/tools/push-schemas.ts FOLDER
 */

const folder = process.argv[2] ?? 'schemas'
await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const write = (name: string, document: object) => writeFile(join(folder, `${name}.json`), `${JSON.stringify(document, null, 2)}\n`)
await write('asyncapi', asyncApi(packageJson.version))
for (const entity of entities) await write(entity.table, tableSchema(entity))
