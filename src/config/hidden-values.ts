import { z } from 'zod'
import { field, keyOf, type Path, shownKey } from './schema/reading.ts'
import { settingsSchema } from './schema/schema.ts'
import { unwrapped } from './schema/walk.ts'
import type { EnvironmentReading } from './sources/environment.ts'
import { type FileReading, nameInFile } from './sources/file.ts'
import { isReported, pathOf } from './sources/merge.ts'
import { settings } from './sources/names.ts'

/**
 * Values of the settings file that a variable overrides. They would be met first on the day that the variable goes, so each is checked by
 * itself; how it fits to others is not, since it applies nowhere.
 * @returns one line for each problem, which names the key in the file.
 */
export function hiddenProblems(environment: EnvironmentReading, file: FileReading): string[] {
  return settings.flatMap(({ path }) => {
    const variable = environment.variables.get(keyOf(path))
    const value = path.reduce<unknown>(field, file.tree)
    // Accounts of the environment and of the file exclude each other.
    if (variable === undefined || value === undefined || path[0] === 'accounts') return []
    const parsed = schemaAt(path).safeParse(value)
    return (parsed.error?.issues ?? []).flatMap((issue) => {
      const place = [...path, ...pathOf(issue.path)]
      const name = nameInFile(place.map(shownKey))
      if (isReported(place, file.reported)) return []
      return issue.message.split('\n').map((line) => `${name} ${line}; ${variable} overrides it, so correct or remove it`)
    })
  })
}

function schemaAt(path: Path): z.ZodType {
  return path.reduce<z.ZodType>((schema, part) => {
    const section = unwrapped(schema)
    if (!(section instanceof z.ZodObject)) throw new Error(`settings have no section above ${part}`)
    return section.shape[part] as z.ZodType
  }, settingsSchema)
}
