import { writeFileSync } from 'node:fs'
import { field } from '../../src/config/schema/reading.ts'
import { settingsSchema } from '../../src/config/schema/schema.ts'
import { secretSettings } from '../../src/config/schema/secrets.ts'

export function writeSettings(path: string, settings: object): void {
  const tree: object = structuredClone(settings)
  for (const setting of secretSettings(settingsSchema, tree)) {
    const holder = setting.path.slice(0, -1).reduce<unknown>(field, tree) as Record<string | number, unknown>
    const key = setting.path.at(-1) ?? ''
    const text = holder[key]
    // A list of secrets may be one text.
    if (setting.parts.length === 0 || typeof holder !== 'object' || typeof text !== 'string' || text.includes('${')) continue
    const secretPath = `${path}.${setting.path.join('.')}`
    writeFileSync(secretPath, text)
    holder[key] = `\${file:${secretPath}}`
  }
  writeFileSync(path, JSON.stringify(tree))
}
