import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import bundled from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { sqliteDatabase, type TestDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { PATIENCE_MS } from '../tools/until.ts'
import { openScene, playStory, type Scene, type TestRole, tokens } from './scene.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly ViolatingNode[]
}

interface ViolatingNode {
  readonly html: string
  readonly failureSummary: string
  readonly any: readonly { readonly relatedNodes: readonly { readonly html: string }[] }[]
}

/** Runs axe until no element changes during the run, because axe measures elements one after the other. */
const AXE_AT_REST = `(async () => {
  for (;;) {
    await document.fonts.ready
    let isStill = true
    const observer = new MutationObserver(() => { isStill = false })
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'style'] })
    const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    observer.disconnect()
    if (isStill) return violations
  }
})()`

function relatedElements({ any }: ViolatingNode): string {
  return any.flatMap(({ relatedNodes }) => relatedNodes.map(({ html }) => html.slice(0, 200))).join(' ')
}

export interface Look {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
}

/** Launches the bundled browser, or an installed one. @throws when there is neither. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')) {
    const executablePath = await bundled.executablePath()
    // Not with its default arguments, which turn off the isolation of origins that the console relies on.
    return await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }
  return await chromium.launch({ channel: 'chrome' }).catch(() => chromium.launch({ channel: 'msedge' }))
}

/** @returns a list that grows with requests to other origins, policy violations and script errors of a page. */
export function watchFaults(page: Page, origin: string): readonly string[] {
  const faults: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) faults.push(`request to another origin: ${request.url()}`)
  })
  page.on('pageerror', (error) => faults.push(`script error: ${error.message}`))
  page.on('console', (message) => {
    if (/Content Security Policy|violates/i.test(message.text())) faults.push(message.text())
  })
  return faults
}

/** A user: a browser page, and everything that went wrong on it. */
export class Person {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #scene: Scene
  readonly faults: readonly string[]

  private constructor(context: BrowserContext, page: Page, scene: Scene) {
    this.#context = context
    this.page = page
    this.#scene = scene
    this.faults = watchFaults(page, scene.serve.ops)
  }

  static async open(browser: Browser, scene: Scene, { width = 1280, height = 860, theme = 'light' }: Look = {}): Promise<Person> {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale: 'en-US',
      timezoneId: 'America/New_York',
    })
    context.setDefaultTimeout(PATIENCE_MS)
    return new Person(context, await context.newPage(), scene)
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(`${this.#scene.console}${path}`)
  }

  async signIn(role: TestRole, path = '/'): Promise<void> {
    await this.goto(path)
    await this.page.getByLabel('Token').fill(tokens[role])
    await this.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await this.page.getByRole('navigation', { name: 'Main' }).waitFor()
  }

  async heading(): Promise<string> {
    return await this.page.getByRole('heading', { level: 1 }).innerText()
  }

  /** Waits for a matching message in the live region, which must not cover the page. */
  async says(what: RegExp): Promise<void> {
    const message = this.page.getByRole('status').filter({ hasText: what })
    await message.waitFor()
    expect(await message.evaluate((element) => element.closest('header') !== null)).toBe(true)
  }

  violations(): Promise<string[]> {
    return violationsOf(this.page)
  }

  async close(): Promise<void> {
    await this.#context.close()
    expect(this.faults).toEqual([])
  }
}

/** @returns serious and critical violations that axe finds. */
export async function violationsOf(page: Page): Promise<string[]> {
  // The content security policy forbids a script element.
  await page.evaluate(axeSource)
  const violations = (await page.evaluate(AXE_AT_REST)) as Violation[]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 300)} ${node.failureSummary} ${relatedElements(node)}`))
}

export interface Stage {
  readonly browser: Browser
  readonly scene: Scene
  /** Signed in, if the stage has a role. */
  readonly person: Person
  readonly page: Page
}

/** Opens a page for one test, which fails if anything goes wrong on the page. @param role Default: nobody signs in. */
export async function visit(
  { browser, scene }: Pick<Stage, 'browser' | 'scene'>,
  { role, ...look }: Look & { readonly role?: TestRole } = {},
): Promise<Pick<Stage, 'person' | 'page'>> {
  const person = await closedAtEnd(Person.open(browser, scene, look))
  if (role) await person.signIn(role)
  return { person, page: person.page }
}

interface StageOptions {
  readonly database?: TestDatabase
  readonly role?: TestRole
  /** Runs before the sign-in. */
  readonly prepare?: (scene: Scene) => unknown
  readonly open?: (database: TestDatabase) => Promise<Scene>
}

export function setStage(set: (stage: Stage) => void, options: StageOptions = {}): void {
  const { database = sqliteDatabase, role, prepare = playStory, open = openScene } = options
  const closing = new AsyncDisposableStack()
  beforeAll(async () => {
    const scene = closing.adopt(await open(database), (opened) => opened.close())
    const browser = closing.adopt(await launchBrowser(), (launched) => launched.close())
    await prepare(scene)
    const person = closing.adopt(await Person.open(browser, scene), (opened) => opened.close())
    if (role) await person.signIn(role)
    set({ browser, scene, person, page: person.page })
  })
  afterAll(() => closing.disposeAsync())
}
