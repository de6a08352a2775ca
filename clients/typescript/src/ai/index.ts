export { salienceMemory, type SalienceMemoryOptions } from "./middleware.js";
export { memoryTools, type MemoryToolsOptions } from "./tools.js";
