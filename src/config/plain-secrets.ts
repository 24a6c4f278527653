import { shownKey, type Tree } from './schema/reading.ts'
import { settingsSchema } from './schema/schema.ts'
import { secretSettings } from './schema/secrets.ts'
import { nameInFile, REFERENCE } from './sources/file.ts'

/**
 * Finds secrets written into the settings file itself. They must be references, since the file is copied, mailed and put under version
 * control.
 * @param written the file with `REFERENCE` in place of each of its references.
 * @returns one problem for each setting with such a secret.
 */
export function plainSecrets(written: Tree): string[] {
  const isPlain = (part: string) => part.replaceAll(REFERENCE, '') !== ''
  return [...secretSettings(settingsSchema, written)]
    .filter(({ parts }) => parts.some(isPlain))
    .map(({ path, isWhole }) => {
      const must = isWhole ? 'must be a reference' : 'must hold its secret as a reference'
      const mend = 'remove the secret from the file and replace it with a new one'
      return `${nameInFile(path.map(shownKey))} ${must}, $${'{NAME}'} or $${'{file:PATH}'}; ${mend}`
    })
}
