import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { CONSOLE_API, consoleApi } from '../tools/console-api.ts'

it("the types of the console's calls are those of the routes", async () => {
  const written = await readFile(CONSOLE_API, 'utf8')
  expect(written === (await consoleApi()), 'run `node test/tools/console-api.ts`').toBe(true)
})
