import { z } from 'zod'
import { sameSettings } from './same-settings.ts'
import { field, keyOf, type Path, shownKey } from './schema/reading.ts'
import { settingsSchema } from './schema/schema.ts'
import { unwrapped } from './schema/walk.ts'
import type { EnvironmentReading } from './sources/environment.ts'
import { type FileReading, nameInFile } from './sources/file.ts'
import { isReported, pathOf } from './sources/merge.ts'
import { settings } from './sources/names.ts'

/** A value of the settings file that a variable overrides. */
interface Hidden {
  readonly path: Path
  readonly variable: string
  readonly value: unknown
}

function hiddenValues(environment: EnvironmentReading, file: FileReading): Hidden[] {
  return settings.flatMap(({ path }) => {
    const variable = environment.variables.get(keyOf(path))
    const value = path.reduce<unknown>(field, file.tree)
    // Accounts of the environment and of the file exclude each other.
    return variable === undefined || value === undefined || path[0] === 'accounts' ? [] : [{ path, variable, value }]
  })
}

/** @returns a sentence for each value of the settings file that does not count because a variable says something else. */
export function overridden(environment: EnvironmentReading, file: FileReading): string[] {
  return hiddenValues(environment, file).flatMap(({ path, variable, value }) => {
    const [inFile, given] = [value, path.reduce<unknown>(field, environment.tree)].map((each) => schemaAt(path).safeParse(each).data)
    if (sameSettings(inFile, given)) return []
    return [`${nameInFile(path)} does not count, because ${variable} overrides it; set ${variable} to nothing to go by the file`]
  })
}

/**
 * Values of the settings file that a variable overrides. They would be met first on the day that the variable goes, so each is checked by
 * itself; how it fits to others is not, since it applies nowhere.
 * @returns one line for each problem, which names the key in the file.
 */
export function hiddenProblems(environment: EnvironmentReading, file: FileReading): string[] {
  return hiddenValues(environment, file).flatMap(({ path, variable, value }) => {
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
