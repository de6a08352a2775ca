/** One page: the cursor leads to the next; it is null at the end, or leads to an empty page. */
export interface Cursor {
  cursor: string | null;
}

/**
 * A listing that is read page by page.
 *
 * `await` gives its first page; `for await` gives every item, and asks for the next page when it needs
 * one. Nothing is asked before either.
 */
export class Listing<Item, Page extends Cursor> implements PromiseLike<Page>, AsyncIterable<Item> {
  readonly #read: (cursor: string | undefined) => Promise<Page>;
  readonly #items: (page: Page) => readonly Item[];

  constructor(read: (cursor: string | undefined) => Promise<Page>, items: (page: Page) => readonly Item[]) {
    this.#read = read;
    this.#items = items;
  }

  then<Value = Page, Refusal = never>(
    onFulfilled?: ((page: Page) => Value | PromiseLike<Value>) | null,
    onRejected?: ((reason: unknown) => Refusal | PromiseLike<Refusal>) | null,
  ): Promise<Value | Refusal> {
    return this.#read(undefined).then(onFulfilled, onRejected);
  }

  /** The pages, one after the other. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.#read(cursor);
      yield page;
      cursor = this.#items(page).length === 0 ? undefined : (page.cursor ?? undefined);
    } while (cursor !== undefined);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#items(page);
  }
}
