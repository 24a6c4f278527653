import { parseUuid } from '../../model/uuid.ts'
import { invalid } from '../service/parse.ts'

/** "All path ids are uuids." @returns the ids of a path by their names, in small letters. @throws Refusal for one that is none. */
export function pathIds(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(params).map(([name, text]) => {
      const id = parseUuid(text)
      if (id === null) throw invalid(['path', name], 'Input should be a valid UUID', 'uuid_parsing', 'invalid_id')
      return [name, id]
    }),
  )
}
